use std::borrow::Cow;

use crossterm::style::Color;

use super::known::Known;
use super::row::{CodePart, Style};

/// What the terminal shows beside letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Palette {
    /// Without one there are no styles, and ghost text is in brackets.
    pub(crate) theme: Option<Theme>,
    /// Whether it has more signs than those of ASCII.
    pub(crate) utf8: bool,
    /// Whether text may be told to lead somewhere.
    pub(crate) links: bool,
}

/// Which colours styles have. No theme gives the background a colour, so what is plain is as its user set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Theme {
    /// Those of the sixteen that the user chose for their terminal: right on light and dark.
    #[default]
    Terminal,
    /// For a dark background.
    Dark,
    /// For a light background.
    Light,
    /// Blue in place of green and orange in place of red, for whoever does not tell these apart.
    BlueOrange,
}

/// Which theme there is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThemeChoice {
    /// The one for the terminal's background, which is asked for; until it answers, the one that is right on each.
    Auto,
    Fixed(Theme),
}

impl Default for ThemeChoice {
    fn default() -> Self {
        Self::Fixed(Theme::default())
    }
}

impl ThemeChoice {
    /// By its name.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        if name == "auto" { Ok(Self::Auto) } else { Theme::parse(name).map(Self::Fixed) }
    }

    /// Which it is before anybody has answered.
    pub(crate) fn first(self) -> Theme {
        match self {
            Self::Auto => Theme::default(),
            Self::Fixed(theme) => theme,
        }
    }
}

impl Palette {
    /// A terminal that shows all.
    #[cfg(test)]
    pub(crate) const STYLED: Self = Self { theme: Some(Theme::Terminal), utf8: true, links: false };
    /// One that shows letters and no styles.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { theme: None, utf8: true, links: false };

    /// Of a terminal whose locale and kind the variables tell.
    pub(crate) fn of(theme: Option<Theme>, variable: impl Fn(&str) -> Option<String>) -> Self {
        // The first that is set counts, as in every program that asks the system's library.
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(&variable).find(|value| !value.is_empty());
        let is_other = locale.is_some_and(|locale| {
            // A name without a coding leaves it to the system, where it is UTF-8 nowadays; "C" and "POSIX" do not.
            let coding = locale.split_once('.').map(|(_, coding)| coding.to_ascii_lowercase());
            coding.map_or(locale == "C" || locale == "POSIX", |coding| !coding.starts_with("utf"))
        });
        // The console of Linux has few signs in its font.
        let is_console = variable("TERM").is_some_and(|term| term == "linux");
        // Without styles nothing but text is sent.
        let links = theme.is_some() && Known::of(variable).takes_links;
        Self { theme, utf8: !is_other && !is_console, links }
    }

    pub(crate) fn is_plain(self) -> bool {
        self.theme.is_none()
    }

    /// The text with our own signs in ASCII where the terminal has no others. Each is as wide as the one it stands for, so nothing moves.
    pub(super) fn signs(self, text: &str) -> Cow<'_, str> {
        if self.utf8 || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.chars().map(ascii_sign).collect())
    }
}

/// The sign for a terminal that has none of ours. Letters of other languages stay: what becomes of them is between it and its user.
fn ascii_sign(sign: char) -> char {
    match sign {
        '✗' => 'x',
        '●' | '•' => '*',
        '○' => 'o',
        '–' | '—' | '·' | '─' => '-',
        '│' | '┆' => '|',
        '✓' | '├' | '└' | '┌' | '┐' | '┘' | '┤' | '┬' | '┴' | '┼' => '+',
        '…' => '~',
        '→' => '>',
        '←' => '<',
        '“' | '”' | '„' => '"',
        '‘' | '’' => '\'',
        sign => sign,
    }
}

impl Theme {
    pub(crate) const ALL: [(&'static str, Self); 4] = [
        ("terminal", Self::Terminal),
        ("dark", Self::Dark),
        ("light", Self::Light),
        ("blue-orange", Self::BlueOrange),
    ];

    /// By its name.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, theme)| *theme).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|(name, _)| *name).collect();
            format!("{name:?} is none of {} and auto", known.join(", "))
        })
    }

    /// The colour of a style, where it has one.
    pub(super) fn color(self, style: Style) -> Option<Color> {
        let (added, removed, accent) = self.colors();
        match style {
            Style::Added | Style::AddedWord => Some(added),
            Style::Removed | Style::RemovedWord => Some(removed),
            Style::Accent => Some(accent),
            Style::Code(part) => self.color_of_code(part),
            Style::Plain | Style::Strong | Style::Underlined | Style::Dim => None,
        }
    }

    /// Of what was added, of what was removed, and of what stands out. Those by number are of the 256 that nearly all terminals have, and no user
    /// sets them; against the background that the theme is for, each has a contrast of more than 4.5.
    fn colors(self) -> (Color, Color, Color) {
        let number = Color::AnsiValue;
        match self {
            Self::Terminal => (Color::DarkGreen, Color::DarkRed, Color::DarkCyan),
            Self::Dark => (number(114), number(210), number(116)),
            Self::Light => (number(22), number(124), number(24)),
            // On black and on white, more than 3.
            Self::BlueOrange => (number(32), number(166), Color::DarkCyan),
        }
    }

    /// Comments have less weight instead.
    fn color_of_code(self, part: CodePart) -> Option<Color> {
        let [keyword, string, constant, function, r#type] = match self {
            Self::Terminal | Self::BlueOrange => {
                [Color::DarkMagenta, Color::DarkGreen, Color::DarkYellow, Color::DarkCyan, Color::Blue]
            }
            Self::Dark => [176, 150, 215, 117, 222].map(Color::AnsiValue),
            Self::Light => [90, 28, 130, 25, 94].map(Color::AnsiValue),
        };
        match part {
            CodePart::Comment => None,
            CodePart::Keyword => Some(keyword),
            CodePart::String => Some(string),
            CodePart::Constant => Some(constant),
            CodePart::Function => Some(function),
            CodePart::Type => Some(r#type),
        }
    }
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthChar;

    use super::*;

    fn utf8(variables: &[(&str, &str)]) -> bool {
        let find = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Palette::of(None, find).utf8
    }

    #[test]
    fn the_locale_and_the_kind_of_terminal_tell_which_signs_there_are() {
        for (variables, expected) in [
            (&[][..], true),
            (&[("LANG", "en_US.UTF-8")], true),
            (&[("LANG", "de_DE.utf8")], true),
            (&[("LANG", "de_DE")], true),
            (&[("LANG", "C.UTF-8")], true),
            (&[("LANG", "C")], false),
            (&[("LANG", "en_US.ISO-8859-1")], false),
            (&[("LC_ALL", "POSIX"), ("LANG", "en_US.UTF-8")], false),
            (&[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8"), ("LANG", "C")], true),
            (&[("LANG", "en_US.UTF-8"), ("TERM", "linux")], false),
        ] {
            assert_eq!(utf8(variables), expected, "{variables:?}");
        }
    }

    #[test]
    fn a_sign_is_as_wide_in_ascii() {
        let signs = "✓✗●•○–—·─│┆├└┌┐┘┤┬┴┼…→←“”„‘’";
        for sign in signs.chars() {
            let ascii = ascii_sign(sign);
            assert!(ascii.is_ascii() && ascii.width() == sign.width(), "{sign} {ascii}");
        }
        let plain = Palette { theme: None, utf8: false, links: false };
        assert_eq!(plain.signs("✓ read a.rs · grün"), "+ read a.rs - grün");
    }

    /// What a diff says must be there without colours too, so no two styles differ by their colour alone but these.
    #[test]
    fn each_theme_tells_what_was_added_from_what_was_removed() {
        for (_, theme) in Theme::ALL {
            let colors = [Style::Added, Style::Removed, Style::Accent].map(|style| theme.color(style));
            assert!(colors.iter().all(Option::is_some));
            assert!(colors[0] != colors[1] && colors[1] != colors[2]);
        }
    }

    /// By the formula of WCAG 2, for a colour of the 256 that has a number.
    fn contrast(color: Color, background: f64) -> Option<f64> {
        let Color::AnsiValue(number) = color else { return None };
        let levels = [0.0, 95.0, 135.0, 175.0, 215.0, 255.0];
        let cube = usize::from(number) - 16;
        let channel = |index: usize| {
            let share = levels[index] / 255.0;
            if share <= 0.03928 { share / 12.92 } else { f64::powf((share + 0.055) / 1.055, 2.4) }
        };
        let light = 0.2126 * channel(cube / 36) + 0.7152 * channel(cube / 6 % 6) + 0.0722 * channel(cube % 6);
        Some((light.max(background) + 0.05) / (light.min(background) + 0.05))
    }

    #[test]
    fn each_colour_of_a_theme_can_be_read_on_its_background() {
        let parts =
            [CodePart::Keyword, CodePart::String, CodePart::Constant, CodePart::Function, CodePart::Type];
        let styles = [Style::Added, Style::Removed, Style::Accent].into_iter().chain(parts.map(Style::Code));
        for style in styles {
            for (theme, background) in [(Theme::Dark, 0.0), (Theme::Light, 1.0)] {
                let contrast = contrast(theme.color(style).unwrap(), background).unwrap();
                assert!(4.5 < contrast, "{theme:?} {style:?}: {contrast}");
            }
        }
        for style in [Style::Added, Style::Removed] {
            for background in [0.0, 1.0] {
                assert!(3.0 < contrast(Theme::BlueOrange.color(style).unwrap(), background).unwrap());
            }
        }
    }
}
