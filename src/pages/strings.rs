//! Every word of every page, in one place per language. A language is one more table of this type; templates do not change.
//!
//! Placeholders: `{server}`, `{provider}`, `{account}`, `{login}`, `{operator}`, `{host}`, `{n}`, `{code}`, `{ref}`.
//! `*between stars*` is bold. Fields that end in `_one` are the form for `{n}` = 1; languages with one form repeat themselves.

mod en;
#[cfg(test)]
mod tests;
mod zh;

use crate::views::Language;

/// Declares the table: a missing string is a compile error in every language.
macro_rules! strings {
    ($($field:ident)*) => {
        /// The words of one language.
        pub(crate) struct Strings {
            $(pub(crate) $field: &'static str,)*
        }

        #[cfg(test)]
        impl Strings {
            /// Every field with its text, so that tests can tell which are shown anywhere.
            pub(crate) fn all(&self) -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($field), self.$field),)*]
            }
        }
    };
}

strings! {
    lang own_name
    bar_by foot_here foot_help foot_privacy foot_ref foot_left foot_left_one step
    who_out who_notyou no tag_see tag_change tag_all scope_unknown scope_none list_join colon check_title close
    hop_h hop_lead hop_go
    signin_h signin_lead signin_check signin_go signin_not
    signingin_h signingin_lead signingin_check signingin_go
    consent_h consent_lead chain_asks chain_wants chain_account chain_you
    consent_may consent_present consent_never consent_exact
    exact_scopes exact_server exact_provider exact_issuer exact_client exact_client_said
    says says_open says_close consent_tick consent_tick_help consent_next consent_yes
    key_h key_lead key_where key_may key_all key_advice key_begins key_found key_show
    key_empty key_characters key_beginning key_length key_foreign key_tick key_tick_help key_next key_next_untried key_yes
    leaving_h leaving_lead leaving_check leaving_after leaving_go leaving_back leaving_foot leaving_foot_one
    confirm_h confirm_lead confirm_lead_unnamed confirm_changed confirm_changed_unnamed
    confirm_account confirm_server confirm_you
    confirm_may confirm_same confirm_less confirm_more confirm_exact confirm_tick confirm_tick_unnamed
    confirm_tick_help confirm_not confirm_yes confirm_other confirm_foot
    mismatch_h mismatch_lead mismatch_sent mismatch_two mismatch_go
    declined_h declined_lead declined_told
    expired_h expired_lead expired_next expired_safe
    done_h done_lead done_account done_server done_you
    error_h error_timeout error_refused error_signin error_browser error_operator error_busy error_crowded error_key error_form
    error_generic error_safe error_safe_step error_do error_do_ask error_do_crowded error_code error_again error_stop
    problem_for problem_status
    me_h me_lead me_lead_out me_signin_not me_who me_waiting me_waiting_one me_asks me_asks_one me_look me_sayno
    me_connected me_connected_one me_none me_good me_needs me_needs_note me_account_unnamed me_key
    me_by me_last me_never me_since me_can me_end me_end_what me_end_key me_end_go
    ended_h ended_lead ended_sure ended_unsure ended_shared ended_key ended_again ended_back done_me
    dev_h dev_lead dev_places dev_next
}

impl Strings {
    /// The table of a language.
    pub(crate) fn of(language: Language) -> &'static Self {
        match language {
            Language::English => &en::EN,
            Language::Chinese => &zh::ZH,
        }
    }
}
