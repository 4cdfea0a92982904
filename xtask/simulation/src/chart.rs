//! Line charts as SVG, as small multiples: the panels of a row show the same measure, those of a column the same
//! policy.

use std::fmt::Write;

/// One chart.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) unit: &'static str,
    /// The top of the scale, which is the same for all panels of a row.
    pub(crate) most: f64,
    pub(crate) lines: Vec<Line>,
}

pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) color: &'static str,
    /// Whether it is drawn in dashes, as the values without work ahead are.
    pub(crate) dashed: bool,
    /// The values by hit rate, which goes from 0 to 1.
    pub(crate) points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 36.0;
const RIGHT: f64 = 14.0;
const BOTTOM: f64 = 34.0;
const LEGEND: f64 = 34.0;

/// Draws the panels in rows of two, with one legend.
pub(crate) fn draw(panels: &[Panel]) -> String {
    let rows = panels.len().div_ceil(2);
    let (width, height) = (2.0 * WIDTH, LEGEND + HEIGHT * count(rows));
    let mut svg = String::new();
    line(
        &mut svg,
        &format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">"#
        ),
    );
    line(&mut svg, &format!(r##"<rect width="{width}" height="{height}" fill="#ffffff"/>"##));
    legend(&mut svg, &panels[0].lines);
    for (number, panel) in panels.iter().enumerate() {
        let (x, y) = (WIDTH * count(number % 2), LEGEND + HEIGHT * count(number / 2));
        line(&mut svg, &format!(r#"<g transform="translate({x} {y})">"#));
        draw_panel(&mut svg, panel);
        line(&mut svg, "</g>");
    }
    line(&mut svg, "</svg>");
    svg
}

fn legend(svg: &mut String, lines: &[Line]) {
    for (number, Line { name, color, dashed, .. }) in lines.iter().enumerate() {
        let x = LEFT + 165.0 * count(number);
        let dashes = if *dashed { r#" stroke-dasharray="5 4""# } else { "" };
        line(
            svg,
            &format!(
                r#"<line x1="{x}" y1="18" x2="{}" y2="18" stroke="{color}" stroke-width="2"{dashes}/>"#,
                x + 22.0
            ),
        );
        line(svg, &format!(r##"<text x="{}" y="22" fill="#222222">{name}</text>"##, x + 28.0));
    }
}

fn draw_panel(svg: &mut String, panel: &Panel) {
    let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
    let x = |rate: f64| LEFT + (right - LEFT) * rate;
    let y = |value: f64| bottom - (bottom - TOP) * (value / panel.most).min(1.0);
    line(
        svg,
        &format!(
            r##"<text x="{LEFT}" y="{}" fill="#222222" font-weight="bold">{}</text>"##,
            TOP - 12.0,
            panel.title
        ),
    );
    for step in 0..=4 {
        let value = panel.most * f64::from(step) / 4.0;
        let at = y(value);
        line(
            svg,
            &format!(r##"<line x1="{LEFT}" y1="{at:.1}" x2="{right}" y2="{at:.1}" stroke="#dddddd"/>"##),
        );
        line(
            svg,
            &format!(
                r##"<text x="{}" y="{:.1}" text-anchor="end" fill="#555555">{} {}</text>"##,
                LEFT - 5.0,
                at + 4.0,
                short(value),
                panel.unit
            ),
        );
    }
    for rate in [0.1, 0.3, 0.5, 0.7, 0.9] {
        line(
            svg,
            &format!(
                r##"<text x="{:.1}" y="{}" text-anchor="middle" fill="#555555">{:.0} %</text>"##,
                x(rate),
                bottom + 16.0,
                rate * 100.0
            ),
        );
    }
    line(
        svg,
        &format!(
            r##"<text x="{:.1}" y="{}" text-anchor="middle" fill="#555555">suggestions that are what the user wants</text>"##,
            f64::midpoint(LEFT, right),
            bottom + 30.0
        ),
    );
    for Line { color, dashed, points, .. } in &panel.lines {
        let mut path = String::new();
        for (rate, value) in points {
            let _ = write!(path, "{:.1},{:.1} ", x(*rate), y(*value));
        }
        let dashes = if *dashed { r#" stroke-dasharray="5 4""# } else { "" };
        line(
            svg,
            &format!(
                r#"<polyline points="{}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>"#,
                path.trim_end()
            ),
        );
        for (rate, value) in points.iter().filter(|_| !dashed) {
            line(
                svg,
                &format!(r#"<circle cx="{:.1}" cy="{:.1}" r="2.5" fill="{color}"/>"#, x(*rate), y(*value)),
            );
        }
    }
}

/// The top of a scale that has room for all values, chosen so that four equal steps are easy to read.
pub(crate) fn top(values: impl Iterator<Item = f64>) -> f64 {
    let most = values.fold(0.0, f64::max).max(0.001);
    let steps = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0];
    let mut unit = 0.000_1;
    loop {
        if let Some(step) = steps.iter().find(|step| most <= unit * **step) {
            return unit * step;
        }
        unit *= 10.0;
    }
}

fn short(value: f64) -> String {
    if value.fract().abs() < 0.000_1 { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(0.0, f64::from)
}

fn line(svg: &mut String, text: &str) {
    svg.push_str(text);
    svg.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_has_room_and_is_easy_to_read() {
        for (most, expected) in [(7.0, 8.0), (8.0, 8.0), (0.31, 0.4), (101.0, 200.0), (1_000.0, 1_000.0)] {
            let top = top([most, 0.1].into_iter());
            assert!((top - expected).abs() < 0.001, "{most}: {top}");
        }
    }

    #[test]
    fn every_point_is_inside_its_panel() {
        let lines = vec![Line {
            name: "joining",
            color: "#000000",
            dashed: false,
            points: vec![(0.1, 0.0), (0.9, 8.0)],
        }];
        let svg = draw(&[Panel { title: "waiting".into(), unit: "s", most: 8.0, lines }]);
        assert!(svg.contains(&format!(r#"cy="{:.1}""#, HEIGHT - BOTTOM)));
        assert!(svg.contains(&format!(r#"cy="{TOP:.1}""#)));
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    }
}
