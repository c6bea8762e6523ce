//! Joins a view, its words and its template. One macro line per page; what differs between pages stands below it.

use askama::Template;

use crate::{
    assets,
    strings::Strings,
    views::{
        ArrivalView, AtProvider, Cause, Chrome, Client, ConfirmView, ConsentView, DeclinedView,
        DevHomeView, DoneView, Earlier, EndedView, ErrorView, ExpiredView, KeyView, KeyWrong,
        LeavingView, MismatchView, OwnPageView, OwnSignInView, ProblemView, SignInView,
        SigningInView,
    },
    words::Words,
};

/// A view that can be drawn as a whole page.
pub trait Page {
    /// The page as HTML, UTF-8, from `<!DOCTYPE html>` on.
    fn html(&self, chrome: &Chrome) -> String;
}

/// Draws a page. Whatever the view holds, the result carries no markup from it, no script, no inline style and nothing remote.
pub fn render<P: Page>(view: &P, chrome: &Chrome) -> String {
    view.html(chrome)
}

/// What a page says in its heading, and the names its strings may use.
trait Worded {
    /// The string of the one `h1`, which is the title too.
    fn heading(&self, s: &'static Strings) -> &'static str;

    /// Adds the names this page may show.
    fn name<'a>(&'a self, words: Words<'a>) -> Words<'a> {
        words
    }

    /// Whether a form came back without its tick.
    fn wrong(&self) -> bool {
        false
    }
}

/// The title as plain text; the template escapes it.
fn title(view: &impl Worded, s: &'static Strings, words: &Words<'_>) -> String {
    let heading = words.plain(view.heading(s));
    if view.wrong() {
        s.check_title.replace("{title}", &heading)
    } else {
        heading
    }
}

macro_rules! pages {
    ($($view:ident as $page:ident from $path:tt;)*) => {$(
        #[derive(Template)]
        #[template(path = $path)]
        struct $page<'a> {
            v: &'a $view,
            c: &'a Chrome,
            s: &'static Strings,
            w: Words<'a>,
            title: String,
            icon: &'static str,
        }

        impl Page for $view {
            fn html(&self, chrome: &Chrome) -> String {
                let s = Strings::of(chrome.language);
                let w = self.name(Words::new(chrome));
                let title = title(self, s, &w);
                $page { v: self, c: chrome, s, w, title, icon: assets::mark_path() }.to_string()
            }
        }
    )*};
}

pages! {
    ArrivalView as ArrivalPage from "arrival.html";
    SignInView as SignInPage from "sign_in.html";
    SigningInView as SigningInPage from "signing_in.html";
    ConsentView as ConsentPage from "consent.html";
    KeyView as KeyPage from "key.html";
    LeavingView as LeavingPage from "leaving.html";
    ConfirmView as ConfirmPage from "confirm.html";
    MismatchView as MismatchPage from "mismatch.html";
    DeclinedView as DeclinedPage from "declined.html";
    ExpiredView as ExpiredPage from "expired.html";
    DoneView as DonePage from "done.html";
    ErrorView as ErrorPage from "error.html";
    ProblemView as ProblemPage from "problem.html";
    OwnSignInView as OwnSignInPage from "own_sign_in.html";
    OwnPageView as OwnPage from "own_page.html";
    EndedView as EndedPage from "ended.html";
    DevHomeView as DevHomePage from "dev_home.html";
}

impl Worded for ArrivalView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.hop_h
    }
}

impl Worded for SignInView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.signin_h
    }
}

impl Worded for SigningInView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.signingin_h
    }
}

impl Worded for ConsentView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.consent_h
    }

    fn name<'a>(&'a self, words: Words<'a>) -> Words<'a> {
        Words {
            provider: &self.provider.name,
            server: &self.server.name,
            login: &self.person.login,
            ..words
        }
    }

    fn wrong(&self) -> bool {
        self.wrong
    }
}

impl Worded for KeyView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.key_h
    }

    fn name<'a>(&'a self, words: Words<'a>) -> Words<'a> {
        Words {
            provider: &self.provider.name,
            server: &self.server.name,
            login: &self.person.login,
            ..words
        }
    }

    fn wrong(&self) -> bool {
        self.came_back()
    }
}

impl Worded for LeavingView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.leaving_h
    }

    fn name<'a>(&'a self, words: Words<'a>) -> Words<'a> {
        Words {
            provider: &self.provider,
            ..words
        }
    }
}

impl Worded for ConfirmView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.confirm_h
    }

    fn name<'a>(&'a self, words: Words<'a>) -> Words<'a> {
        Words {
            provider: &self.provider.name,
            server: &self.server.name,
            login: &self.person.login,
            account: self.account.as_deref().unwrap_or_default(),
            ..words
        }
    }

    fn wrong(&self) -> bool {
        self.wrong
    }
}

impl Worded for MismatchView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.mismatch_h
    }
}

impl Worded for DeclinedView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.declined_h
    }

    fn name<'a>(&'a self, words: Words<'a>) -> Words<'a> {
        Words {
            provider: &self.provider,
            server: &self.server,
            ..words
        }
    }
}

impl Worded for ExpiredView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.expired_h
    }
}

impl Worded for DoneView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.done_h
    }

    fn name<'a>(&'a self, words: Words<'a>) -> Words<'a> {
        Words {
            provider: &self.provider,
            ..words
        }
    }
}

impl Worded for ErrorView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.error_h
    }
}

impl Worded for ProblemView {
    fn heading(&self, _: &'static Strings) -> &'static str {
        self.title
    }
}

impl Worded for OwnSignInView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.me_h
    }
}

impl Worded for OwnPageView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.me_h
    }
}

impl Worded for EndedView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.ended_h
    }

    fn name<'a>(&'a self, words: Words<'a>) -> Words<'a> {
        Words {
            provider: &self.provider,
            server: &self.server,
            ..words
        }
    }
}

impl Worded for DevHomeView {
    fn heading(&self, s: &'static Strings) -> &'static str {
        s.dev_h
    }
}
