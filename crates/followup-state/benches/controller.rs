//! A controller event and a filtered text, each beside its floor: what copying the same text costs.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use headstart_followup_state::{AcceptMethod, Config, Event, FollowupController, RequestId, filter};

const TEXTS: [(&str, &str); 4] = [
    ("english", "run the tests and fix what fails"),
    ("chinese", "运行测试并修复失败的用例"),
    ("refused last", "let me run the tests for you"),
    ("hundred kilobytes", ""),
];

fn controller(c: &mut Criterion) {
    let mut group = c.benchmark_group("controller");
    let suggestion = filter("run the tests").expect("works because the text is a plain order");
    group.bench_function("floor: copy the text four times", |b| {
        b.iter(|| [0; 4].map(|_| black_box(suggestion.as_str()).to_owned()));
    });
    group.bench_function("suggested, wake, accept, clear", |b| {
        let mut controller = FollowupController::new(Config::default());
        let mut request = 0;
        b.iter(|| {
            request += 1;
            let now = request * 1_000;
            let suggested = Event::suggested(RequestId(request), [suggestion.clone()]);
            black_box(controller.handle(now, suggested));
            black_box(controller.handle(now + 300, Event::Wake));
            black_box(controller.handle(now + 400, Event::accept(AcceptMethod::Tab)));
            black_box(controller.handle(now + 500, Event::Clear));
        });
    });
    group.bench_function("wake with nothing to do", |b| {
        let mut controller = FollowupController::new(Config::default());
        b.iter(|| black_box(controller.handle(black_box(1), Event::Wake)));
    });
    group.finish();
}

fn texts(c: &mut Criterion) {
    let mut group = c.benchmark_group("filter");
    let long = "x ".repeat(50_000);
    for (name, text) in TEXTS {
        let text = if text.is_empty() { long.as_str() } else { text };
        group.bench_function(format!("{name}, floor: lower-case copy"), |b| {
            b.iter(|| black_box(black_box(text).to_lowercase()));
        });
        group.bench_function(name, |b| b.iter(|| black_box(filter(black_box(text)))));
    }
    group.finish();
}

criterion_group!(benches, controller, texts);
criterion_main!(benches);
