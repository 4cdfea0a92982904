//! The cost of the controller's events and of the filter, each beside a floor: the cost of copying the same text.
#![expect(clippy::wildcard_imports, reason = "a group of benchmarks is a module of this file")]

use divan::{Bencher, black_box};
use headstart_followup_state::{AcceptMethod, Config, Event, FollowupController, RequestId, filter};

fn main() {
    divan::main();
}

mod controller {
    use super::*;

    #[divan::bench(name = "floor: copy the text four times")]
    fn floor(bencher: Bencher<'_, '_>) {
        let suggestion = filter("run the tests").expect("works because the text is a plain order");
        bencher.bench(|| [0; 4].map(|_| black_box(suggestion.as_str()).to_owned()));
    }

    #[divan::bench(name = "suggested, wake, accept, clear")]
    fn four_events(bencher: Bencher<'_, '_>) {
        let suggestion = filter("run the tests").expect("works because the text is a plain order");
        let mut controller = FollowupController::new(Config::default());
        let mut request = 0;
        bencher.bench_local(|| {
            request += 1;
            let now = request * 1_000;
            let suggested = Event::suggested(RequestId(request), [suggestion.clone()]);
            black_box(controller.handle(now, suggested));
            black_box(controller.handle(now + 300, Event::Wake));
            black_box(controller.handle(now + 400, Event::accept(AcceptMethod::Tab)));
            black_box(controller.handle(now + 500, Event::Clear));
        });
    }

    #[divan::bench(name = "wake with nothing to do")]
    fn nothing(bencher: Bencher<'_, '_>) {
        let mut controller = FollowupController::new(Config::default());
        bencher.bench_local(|| controller.handle(black_box(1), Event::Wake));
    }
}

mod texts {
    use super::*;

    const TEXTS: [&str; 4] = ["english", "chinese", "refused last", "hundred kilobytes"];

    fn text(name: &str) -> String {
        match name {
            "english" => "run the tests and fix what fails".to_owned(),
            "chinese" => "运行测试并修复失败的用例".to_owned(),
            "refused last" => "let me run the tests for you".to_owned(),
            _ => "x ".repeat(50_000),
        }
    }

    #[divan::bench(name = "floor: lower-case copy", args = TEXTS)]
    fn floor(bencher: Bencher<'_, '_>, name: &str) {
        let text = text(name);
        bencher.bench(|| black_box(&text).to_lowercase());
    }

    #[divan::bench(name = "filter", args = TEXTS)]
    fn filtered(bencher: Bencher<'_, '_>, name: &str) {
        let text = text(name);
        bencher.bench(|| filter(black_box(&text)));
    }
}
