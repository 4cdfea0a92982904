use headstart_machine::conversation::SelectedModel;
use headstart_machine::error::CliError;
use headstart_machine::model_spec::ModelSpec;
use headstart_terminal::Style;

use super::Chat;
use super::retry_waits::RetryWaits;

impl Chat {
    /// Shows which model answers, or changes it from now on.
    pub(super) fn on_model(&mut self, name: Option<&str>) -> Result<(), CliError> {
        let Some(name) = name else {
            let now = self.settings.main_model();
            let now = if now.is_empty() { self.parts.model_name.clone() } else { now };
            let fast = self.settings.fast_model.as_ref().map(|fast| format!(", and {fast} the work ahead"));
            let text = format!("{now} answers{}; /model NAME chooses another", fast.unwrap_or_default());
            return self.display.say(&text, Style::Dim);
        };
        let chosen = match self.models.open(name) {
            Ok(chosen) => chosen,
            Err(problem) => {
                let text = format!("the model stays as it is: {problem}");
                return self.display.say(&text, Style::Removed);
            }
        };
        let spec = self.use_models(chosen);
        let text = format!("{spec} answers from now on; what ran ahead is dropped");
        self.display.say(&text, Style::Dim)
    }

    /// Has another model do the work ahead from now on.
    pub(super) fn on_fast_model(&mut self, name: &str) -> Result<(), CliError> {
        let chosen = match self.models.open_fast(self.settings.model.as_ref(), name) {
            Ok(chosen) => chosen,
            Err(problem) => {
                let text = format!("the work ahead stays with its model: {problem}");
                return self.display.say(&text, Style::Removed);
            }
        };
        let fast = chosen.fast().cloned();
        let spec = self.use_models(chosen);
        let who = fast.as_ref().unwrap_or(&spec);
        let text = format!("{who} does the work ahead from now on; what ran ahead is dropped");
        self.settings.fast_model = fast;
        self.display.say(&text, Style::Dim)
    }

    fn use_models(&mut self, chosen: SelectedModel) -> ModelSpec {
        let spec = self.models.use_models(&self.agent, &mut self.parts, &self.uses_local_model, chosen);
        self.retry_waits =
            RetryWaits::of(&self.models.waits, super::counts_down(&self.settings, &self.display));
        self.settings.model = Some(spec.clone());
        self.refresh_status();
        spec
    }
}
