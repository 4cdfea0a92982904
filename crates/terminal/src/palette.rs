use std::borrow::Cow;

use crossterm::style::Color;

use super::features::TerminalFeatures;
use super::row::{CodePart, Style};

/// What the terminal can show besides letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// The colours. Without a theme there are no styles, and ghost text is in brackets.
    pub theme: Option<Theme>,
    /// Whether the terminal can show more characters than ASCII.
    pub utf8: bool,
    /// Whether text can be a link.
    pub links: bool,
}

/// The colours of styles. No theme colours the background, so plain text looks as the user has set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// Some of the sixteen colours that the user chose for the terminal. They are readable on light and dark.
    #[default]
    Terminal,
    /// For a dark background.
    Dark,
    /// For a light background.
    Light,
    /// Blue in place of green and orange in place of red, for users who cannot tell these two apart.
    BlueOrange,
}

/// The theme that the user chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThemeChoice {
    /// The theme for the terminal's background, for which the terminal is asked. Until it answers, the theme that is
    /// readable on both.
    Auto,
    Fixed(Theme),
}

impl Default for ThemeChoice {
    fn default() -> Self {
        Self::Fixed(Theme::default())
    }
}

impl ThemeChoice {
    /// Reads a choice from its name.
    pub fn parse(name: &str) -> Result<Self, String> {
        if name == "auto" { Ok(Self::Auto) } else { Theme::parse(name).map(Self::Fixed) }
    }

    /// The theme until the terminal has answered.
    pub fn first(self) -> Theme {
        match self {
            Self::Auto => Theme::default(),
            Self::Fixed(theme) => theme,
        }
    }
}

impl Palette {
    /// The palette of a terminal that shows everything but links.
    #[cfg(test)]
    pub(crate) const STYLED: Self = Self { theme: Some(Theme::Terminal), utf8: true, links: false };
    /// The palette of a terminal that shows letters without styles.
    pub const PLAIN: Self = Self { theme: None, utf8: true, links: false };

    /// The palette of a terminal, by the variables for its locale and its kind.
    pub fn of(theme: Option<Theme>, variable: impl Fn(&str) -> Option<String>) -> Self {
        // The first variable that is set counts, as in every program that uses the system's library.
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(&variable).find(|value| !value.is_empty());
        let is_other = locale.is_some_and(|locale| {
            // A locale without an encoding leaves it to the system, which uses UTF-8 nowadays. "C" and "POSIX" are
            // exceptions.
            let coding = locale.split_once('.').map(|(_, coding)| coding.to_ascii_lowercase());
            coding.map_or(locale == "C" || locale == "POSIX", |coding| !coding.starts_with("utf"))
        });
        // The font of the Linux console has few characters.
        let is_console = variable("TERM").is_some_and(|term| term == "linux");
        // Without styles only plain text is sent, and no links.
        let links = theme.is_some() && TerminalFeatures::of(variable).takes_links;
        Self { theme, utf8: !is_other && !is_console, links }
    }

    pub fn is_plain(self) -> bool {
        self.theme.is_none()
    }

    /// The text with the chat's own signs in ASCII if the terminal has no others. Each replacement has the same width,
    /// so the layout does not change.
    pub(super) fn signs(self, text: &str) -> Cow<'_, str> {
        if self.utf8 || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.chars().map(ascii_sign).collect())
    }
}

/// The ASCII replacement of one of the chat's signs. Letters of other languages stay, because only the terminal and its
/// user know how they are shown.
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
    pub const ALL: [(&'static str, Self); 4] = [
        ("terminal", Self::Terminal),
        ("dark", Self::Dark),
        ("light", Self::Light),
        ("blue-orange", Self::BlueOrange),
    ];

    /// Reads a theme from its name.
    pub fn parse(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, theme)| *theme).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|(name, _)| *name).collect();
            format!("{name:?} is none of {} and auto", known.join(", "))
        })
    }

    /// The colour of a style, if it has one.
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

    /// The colours of added text, of removed text, and of accents. Those by number are from the 256 that nearly all
    /// terminals have and that users do not change. On the background of its theme, each has a contrast of more than
    /// 4.5.
    fn colors(self) -> (Color, Color, Color) {
        let number = Color::AnsiValue;
        match self {
            Self::Terminal => (Color::DarkGreen, Color::DarkRed, Color::DarkCyan),
            Self::Dark => (number(114), number(210), number(116)),
            Self::Light => (number(22), number(124), number(24)),
            // The contrast of these is more than 3 on black and on white.
            Self::BlueOrange => (number(32), number(166), Color::DarkCyan),
        }
    }

    /// The colour of a part of code. Comments are dim instead.
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

    /// A diff must be readable without colours, so no other two styles differ by their colour alone.
    #[test]
    fn each_theme_tells_what_was_added_from_what_was_removed() {
        for (_, theme) in Theme::ALL {
            let colors = [Style::Added, Style::Removed, Style::Accent].map(|style| theme.color(style));
            assert!(colors.iter().all(Option::is_some));
            assert!(colors[0] != colors[1] && colors[1] != colors[2]);
        }
    }

    /// The contrast by the formula of WCAG 2, for one of the 256 numbered colours.
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
