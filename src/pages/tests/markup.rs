//! A strict reader of our own HTML: it refuses every element, attribute and stray character that no template of ours writes,
//! so that text which slipped through unescaped cannot go unnoticed.

/// Elements our templates use; `VOID` ones have no end.
const ELEMENTS: [&str; 38] = [
    "html",
    "head",
    "meta",
    "title",
    "link",
    "body",
    "header",
    "main",
    "footer",
    "section",
    "div",
    "span",
    "p",
    "b",
    "strong",
    "bdi",
    "br",
    "h1",
    "h2",
    "h3",
    "h4",
    "time",
    "dl",
    "dt",
    "dd",
    "ul",
    "li",
    "form",
    "input",
    "label",
    "button",
    "a",
    "details",
    "summary",
    "code",
    "figure",
    "figcaption",
    "blockquote",
];
const VOID: [&str; 4] = ["meta", "link", "br", "input"];
/// Attributes our templates use.
const ATTRIBUTES: [&str; 30] = [
    "for",
    "maxlength",
    "datetime",
    "autocomplete",
    "autocapitalize",
    "spellcheck",
    "translate",
    "dir",
    "lang",
    "hreflang",
    "charset",
    "name",
    "content",
    "media",
    "rel",
    "href",
    "type",
    "class",
    "id",
    "method",
    "action",
    "value",
    "required",
    "hidden",
    "form",
    "autofocus",
    "aria-hidden",
    "aria-labelledby",
    "aria-describedby",
    "aria-invalid",
];

/// An element with the text directly in it, decoded.
pub(crate) struct Node {
    pub(crate) element: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) text: String,
    /// Element and position in the page of everything around it.
    pub(crate) ancestors: Vec<(String, usize)>,
    position: usize,
}

impl Node {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn inside(&self, other: &Self) -> bool {
        self.ancestors
            .iter()
            .any(|(_, position)| *position == other.position)
    }
}

/// Every element of a page, in order, or what is wrong with it.
pub(crate) fn parse(html: &str) -> Result<Vec<Node>, String> {
    let mut rest = html.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    let mut nodes: Vec<Node> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    while let Some((before, tail)) = rest.split_once('<') {
        add_text(&mut nodes, &open, before)?;
        rest = if let Some(end) = tail.strip_prefix('/') {
            let (name, after) = end.split_once('>').ok_or("an end tag does not end")?;
            let last = open
                .pop()
                .ok_or_else(|| format!("</{name}> without beginning"))?;
            if nodes[last].element != name {
                return Err(format!("</{name}> ends <{}>", nodes[last].element));
            }
            after
        } else {
            let (mut node, after) = tag(tail)?;
            node.position = nodes.len();
            node.ancestors = open
                .iter()
                .map(|at| (nodes[*at].element.clone(), *at))
                .collect();
            if !VOID.contains(&node.element.as_str()) {
                open.push(nodes.len());
            }
            nodes.push(node);
            after
        };
    }
    add_text(&mut nodes, &open, rest)?;
    if open.is_empty() {
        Ok(nodes)
    } else {
        Err(format!("{} elements stay open", open.len()))
    }
}

fn add_text(nodes: &mut [Node], open: &[usize], text: &str) -> Result<(), String> {
    let decoded = decode(text)?;
    match open.last() {
        Some(at) => nodes[*at].text.push_str(&decoded),
        None if decoded.trim().is_empty() => {}
        None => return Err(format!("text outside: {text}")),
    }
    Ok(())
}

/// Reads a start tag, whose `<` is gone already.
fn tag(text: &str) -> Result<(Node, &str), String> {
    let end = text.find([' ', '>']).ok_or("a tag does not end")?;
    let (element, mut rest) = text.split_at(end);
    if !ELEMENTS.contains(&element) {
        return Err(format!("<{element}> is none of ours"));
    }
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('>') {
            let (text, ancestors, position) = (String::new(), Vec::new(), 0);
            return Ok((
                Node {
                    element: element.to_owned(),
                    attributes,
                    text,
                    ancestors,
                    position,
                },
                after,
            ));
        }
        let end = rest
            .find([' ', '=', '>'])
            .ok_or("an attribute does not end")?;
        let (name, after) = rest.split_at(end);
        if !ATTRIBUTES.contains(&name) {
            return Err(format!("{name}= on <{element}> is none of ours"));
        }
        rest = after;
        let mut value = String::new();
        if let Some(quoted) = after.strip_prefix("=\"") {
            let (raw, after) = quoted.split_once('"').ok_or("a value does not end")?;
            value = decode(raw)?;
            rest = after;
        } else if after.starts_with('=') {
            return Err(format!("{name}= is not quoted"));
        }
        attributes.push((name.to_owned(), value));
    }
}

/// Replaces the references our escaping writes; any other use of `&`, `<` or `>` is a fault.
fn decode(text: &str) -> Result<String, String> {
    if text.contains(['<', '>']) {
        return Err(format!("a bare < or > in {text:?}"));
    }
    let known = [
        ("&#38;", "&"),
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
    ];
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, tail) = rest.split_at(at);
        let (from, to) = known
            .iter()
            .find(|(from, _)| tail.starts_with(from))
            .ok_or_else(|| format!("a bare & in {text:?}"))?;
        out.push_str(before);
        out.push_str(to);
        rest = tail.strip_prefix(from).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(out)
}
