//! English, and the lists that only the English rules use.

use super::{BLANK, Language, List};

pub(super) const ENGLISH: Language = Language {
    done: List("done|all done|it's done|task done|task complete|task completed|completed|finished"),
    nothing: List(
        "nothing found|nothing|none|null|n/a|na|undefined|no response|no output|no reply|no prediction|\
         no follow-up|no followup|no follow up|empty string|empty|silence",
    ),
    nothing_start: List(
        "nothing to suggest|no suggestion|nothing more to suggest|nothing further|\
         nothing else to suggest|i have no suggestion|i have nothing|there is nothing to suggest|\
         no obvious next|no clear next|the user would|the user might|the user may |the user will |\
         the user wants|the user is likely|user would likely|user might|user would say",
    ),
    nothing_within: List("silence is|stay silent|stays silent|staying silent|remain silent|remaining silent"),
    labels: List("suggestion|suggestions|follow-up|followup|follow up|next|you|me|q|a"),
    one_word: List("yes|yeah|yep|yea|yup|sure|ok|okay|push|commit|deploy|stop|continue|check|exit|quit|no"),
    lead_ins: List(
        "ok|okay|now|next|first|then|so|alright|all right|well|yes|yeah|yep|sure|great|and|but|hmm|ah|oh|\
         hi|hello|hey|perfect",
    ),
    ask_start: List(
        "what|what's|why|how|how's|where is|where are|where do|where does|where did|where should|where can|where to|where was|where will|where's|who|who's|whose|which|when should|when will|\
         when is|when are|when do|when does|when did|when can|should i|should we|should it|should the|\
         should this|should that|shall i|shall we|shall|do you|do i|do we|do they|does|did|is it|is this|\
         is that|is there|is the|is everything|is my|is our|are you|are we|are they|are there|are these|\
         are those|are the|was|were|am i|have you|have we|has the|has it|has this|have i|will it|\
         will this|will that|will the|will you|would you like|would you prefer|would you mind|would it|\
         would that|would this|want me to|do u|can i|can we|can it|may i|might i|could i|could we|\
         could it|any questions|any ideas|any thoughts|any other|any chance|anything else|isn't|aren't|\
         doesn't|don't you|didn't|won't|wouldn't|shouldn't we|can't we|need me to",
    ),
    ask_start_except: List("what you said|do it|how about we|what i said|which means"),
    praise_start: List(
        "works for me|thanks|thank you|thank u|thx|many thanks|much appreciated|appreciate it|i appreciate|\
         appreciated|cheers|kudos|bravo|congrats|congratulations|looks good|looks great|looks nice|\
         looks perfect|looks fine|looks awesome|looks amazing|looks excellent|looking good|looking great|\
         sounds good|sounds great|sounds perfect|sounds like a plan|sounds fine|sounds nice|makes sense|\
         well done|nicely done|works great|works perfectly|works well|works fine|works like a charm|\
         works as expected|works beautifully|worked great|worked perfectly|worked like a charm|\
         that's all|that's it|that is all|that is it|that'll be all|that will be all|that will do|\
         that'll do|love it|love this|love that|i love|i like|i really like|all good|so far so good|\
         much better|way better|what a great|what a nice|what a good|such a great|you're the best|\
         you are the best|you rock|you're awesome|you did|you nailed|nailed it|couldn't be better|\
         exactly what i|just what i|can't complain|i'm happy with|i am happy with|i'm satisfied|\
         i'm impressed|no complaints|tysm|thank god|lgtm|sgtm|good work|good job|good catch|good point|\
         good idea|good stuff|good to go|good call|top notch|five stars|a big thank you|big thanks",
    ),
    praise: List(
        "wow|yay|hooray|hurray|woohoo|ty|works|it works|worked|you're welcome|gj|gg|perfectly|\
         perfect timing|perfection|10/10|good enough",
    ),
    orders: List(
        "commit|push|run|rerun|add|fix|continue|go|merge|deploy|ship|write|update|remove|rename|test|refactor|\
         implement|make|do|use|try|start|open|create|move|document|format|build|release|tag|check|review|clean|bump|\
         publish|rebase|squash|apply|proceed|finish|let's|please",
    ),
    voice: List(
        "let me|lemme|allow me|i'll|i've|i'm|i can|i cannot|i can't|i would|i'd be happy|i'd recommend|\
         i'd suggest|i think|i notice|i noticed|i will|i am|i could|i should|i recommend|i suggest|\
         i found|i see|i understand|i apologize|i believe|i checked|i fixed|i added|i updated|i created|\
         i ran|i shall|i don't have|i have completed|i have updated|i have fixed|i have added|\
         i have created|i have made|i have finished|here's|here is|here are|here you go|there you go|\
         that's|this is|this will|you can|you should|you could|you may|you might|you'll|you need to|\
         you've|you will|of course|certainly|absolutely|sure thing|sure i|sorry|apologies|as an ai|\
         happy to|glad to|feel free|no problem|my pleasure|don't hesitate|based on my|we've|\
         we have successfully|understood|got it",
    ),
    destructive: List(
        "reset hard|rewrite git history|rewrite the git history|erase the git history|delete the git history|\
         force push|force-push|force pushing|push with force|push by force|push forcefully|\
         forcefully push|forcibly push|hard reset|kill all processes|kill every process|\
         blow away the database|blow away everything|burn it all down|scorch the earth",
    ),
    ..BLANK
};

/// Error messages of model servers.
pub(crate) const ERROR_MESSAGES: List = List(
    "api error:|prompt is too long|request timed out|invalid api key|image was too large|\
     internal server error:|rate limit exceeded:|overloaded_error|connection error.|error: |api错误:|\
     api 错误:|api 錯誤:|ошибка api:|apiエラー:|api エラー:|api 오류:",
);

/// Words of a label. A label of several words consists of these and the adjectives only.
pub(crate) const LABEL_NOUNS: List = List(
    "suggestion|suggestions|prompt|step|steps|message|input|output|answer|reply|response|prediction|\
     predicted|user|human|assistant|ai|bot|system|text|action|command|follow-up|followup|recommendation|\
     hint|tip|result|option|idea|query|question|task|request|says|types|say",
);

/// Adjectives that may stand before the words of a label.
pub(crate) const LABEL_ADJECTIVES: List = List(
    "next|my|the|your|final|suggested|likely|best|possible|recommended|follow|up|first|user's|a|new|one|\
     most|here|is|was|would|will|might|of|for|1|2|3",
);

/// Types of conventional commits.
pub(crate) const COMMIT_TYPES: List = List(
    "feat|feature|fix|docs|doc|chore|refactor|test|tests|build|ci|perf|style|revert|wip|deps|release|\
     hotfix|bugfix|i18n|security",
);

/// Programs that people name before a colon ("npm: run build").
pub(crate) const TOOLS: List = List(
    "npm|npx|pnpm|yarn|bun|deno|node|cargo|rustup|clippy|rustfmt|git|gh|make|cmake|ninja|bazel|gradle|\
     maven|mvn|sbt|docker|podman|compose|kubectl|helm|terraform|ansible|pip|pipx|uv|poetry|conda|python|\
     pytest|tox|nox|ruff|black|mypy|eslint|prettier|tsc|vite|webpack|jest|vitest|playwright|cypress|\
     storybook|go|golangci|gofmt|dotnet|nuget|mix|rake|bundle|rails|rspec|composer|artisan|php|swift|\
     xcode|brew|apt|nix|just|task|turbo|nx|lerna|bash|zsh|sh|ssh|curl|psql|sql|redis|nginx|systemd|vim|\
     emacs|vscode|github|gitlab|jenkins|css|html|api|ui|cli|backend|frontend",
);

/// Tags that are HTML even where they touch the word before them.
pub(crate) const HTML_TAGS: List = List(
    "a|b|i|u|p|br|hr|em|li|ul|ol|td|tr|th|h1|h2|h3|div|img|pre|span|code|strong|script|style|table|\
     details|summary|sub|sup",
);

/// Titles before a name, as written.
pub(crate) const TITLES: List =
    List("Mr|Mrs|Dr|Ms|Prof|Sr|Jr|St|Mt|Ft|Gen|Sen|Rep|Gov|Rev|Lt|Col|Sgt|Capt|Ave|Inc|Ltd|Corp|Co");

/// Abbreviations, whatever their case.
pub(crate) const ABBREVIATIONS: List = List(
    "vs|etc|e.g|i.e|eg|cf|approx|al|ca|fig|figs|incl|resp|dept|est|vol|sec|ver|jan|feb|apr|jun|jul|aug|\
     sept|sep|oct|nov|dec|z.b|d.h|bzw|usw|т.е|т.д|т.п|напр",
);

/// Words that begin a sentence even after initials or a version ("Bump to 2.0. Then release").
pub(crate) const SENTENCE_STARTERS: List = List(
    "then|now|and|but|also|after|afterwards|next|finally|please|it|this|that|these|the|we|you|i|let|\
     let's|when|once|so|ok|yes|no|thanks|run|commit|push|fix",
);

/// Words that may stand before praise at the beginning of a clause.
pub(crate) const PRAISE_LEAD_INS: List = List(
    "oh|ah|wow|hey|ok|okay|yes|yeah|yep|well|very|really|so|pretty|absolutely|truly|quite|just|simply|\
     haha|damn|hell|and|a|an|what|such|totally|how|man",
);

/// Words that begin a clause of praise, whatever follows, except [`PRAISE_COMPOUNDS`].
pub(crate) const PRAISE_WORDS: List = List(
    "nice|great|perfect|awesome|excellent|amazing|fantastic|wonderful|brilliant|superb|outstanding|\
     terrific|magnificent|marvelous|fabulous|splendid|phenomenal|stellar|spectacular",
);

/// Technical terms that begin with a word of praise.
pub(crate) const PRAISE_COMPOUNDS: List = List(
    "perfect hash|perfect hashing|perfect hashes|perfect forwarding|perfect square|perfect squares|\
     perfect number|perfect numbers|perfect secrecy|perfect matching|perfect match|nice value|\
     nice values|nice level|nice levels|great circle|great expectations|awesome list|awesome wm",
);

/// Words that begin a clause of praise only alone or before [`PRAISED_NOUNS`].
pub(crate) const WEAK_PRAISE_WORDS: List = List(
    "good|cool|sweet|neat|lovely|beautiful|impressive|incredible|super|fine|solid|clean|better|correct|\
     ideal|flawless|gorgeous|elegant|helpful|useful|clever|smart|slick|fab|best|genius|epic|legend|\
     exceptional|remarkable|stunning|pleased|happy|beautifully|right",
);

/// Nouns that praise at the beginning of a clause may speak of.
pub(crate) const PRAISED_NOUNS: List = List(
    "work|job|stuff|one|catch|idea|point|progress|solution|answer|question|call|find|try|move|\
     improvement|improvements|effort|result|results|code|to|that|it|so|enough|as|thanks|thank|now|\
     thinking|news|choice|explanation|summary|looking|and|cool|response",
);

/// Words that begin a clause about the work that was done.
pub(crate) const SUBJECTS: List = List(
    "that|this|it|these|those|they|everything|all|the|your|you|our|my|both|that's|it's|its|everything's|\
     they're|you're|all's|tests|code|changes|i'm|those're",
);

/// Verbs between what is praised and the word of praise.
pub(crate) const COPULAS: List = List(
    "is|are|was|were|looks|look|looked|sounds|sound|seems|seem|feels|feel|turned|came|makes|made|did|\
     reads|read|runs|run|be|does|have|has",
);

/// Adverbs that may stand between such a verb and the word of praise.
pub(crate) const ADVERBS: List = List(
    "very|really|so|pretty|absolutely|truly|quite|just|simply|all|a|an|the|such|now|out|totally|much|\
     perfectly|even|already|both|really,|been|looking|done",
);

/// Words that praise only behind such a verb.
pub(crate) const PREDICATES: List =
    List("sense|well|smoothly|nicely|beautifully|flawlessly|what|job|trick|exactly|perfection|appreciated");

/// Adverbs that make praise of "it works".
pub(crate) const WORKS_HOW: List = List(
    "great|perfectly|well|fine|nicely|beautifully|flawlessly|as|like|for|now|too|again|wonderfully|\
     really|very|so|much|exactly|good|perfect|awesome|just|smoothly|and|out",
);

/// Words before "thanks" or "thank you" that make it a thing ("add a thank you").
pub(crate) const BEFORE_A_NOUN: List =
    List("a|an|the|say|with|of|for|word|named|called|to|add|remove|rename|write");

/// Verbs that destroy their object.
pub(crate) const DESTROY_VERBS: List = List(
    "delete|deleting|remove|removing|wipe|wiping|erase|erasing|destroy|destroying|nuke|nuking|purge|\
     obliterate|trash|shred|annihilate|rm|drop|dropping|clear|truncate|overwrite|zap|unlink|demolish|\
     reset|eliminate|flush",
);

/// Verbs that lose work that is not committed.
pub(crate) const DISCARD_VERBS: List = List("discard|throw|toss|scrap|wipe|nuke|delete|destroy|erase");

/// Verbs that empty a disk.
pub(crate) const ERASE_DISK_VERBS: List =
    List("format|reformat|wipe|erase|overwrite|zero|repartition|partition");

/// Objects of [`ERASE_DISK_VERBS`].
pub(crate) const DISKS: List =
    List("disk|disks|drive|drives|partition|filesystem|ssd|hdd|computer|machine|volume");

/// Words between a verb and its object.
pub(crate) const DETERMINERS: List = List(
    "the|my|our|your|his|their|this|that|these|those|of|all|every|entire|whole|each|any|out|away|up|off|\
     completely|source|project|user|users|local|its|existing|customer|customers|production|prod|staging|\
     live|main|remote|git|uncommitted|hard|everything|absolutely|just|literally|a|an|in|on|from|postgres|\
     mysql|sqlite|mongo|redis|test|dev|backup|unstaged|working|current|system|root|home|recursively|\
     permanently|single|complete|full|s3|kubernetes|k8s|user's|github|company",
);

/// Words that say "all".
pub(crate) const QUANTIFIERS: List = List("all|every|entire|whole|each|complete|full");

/// Words that mean "all" and are an object by themselves.
pub(crate) const EVERYTHING: List = List("everything|all");

/// Objects that must not be destroyed, one of them or all.
pub(crate) const PRECIOUS: List = List(
    "database|databases|db|disk|disks|drive|filesystem|repo|repos|repository|repositories|cluster|\
     clusters|backups|production|prod|infrastructure|volume|volumes|bucket|buckets|history|server|\
     servers|system|computer|machine|codebase|workspace|project|partition|namespace|tables|schema",
);

/// Verbs that often remove only an entry ("remove the server from the list").
pub(crate) const MILD_VERBS: List =
    List("remove|removing|drop|dropping|clear|reset|flush|eliminate|overwrite");

/// Objects that must not be destroyed with one of [`MILD_VERBS`] either.
pub(crate) const MOST_PRECIOUS: List = List(
    "database|databases|db|disk|disks|drive|filesystem|repo|repos|repository|repositories|cluster|\
     clusters|backups|production|prod|infrastructure|tables|codebase|bucket|buckets",
);

/// Objects that must not be destroyed if it is all of them.
pub(crate) const WHEN_ALL: List = List(
    "files|file|data|folders|folder|directories|directory|documents|records|rows|users|branches|commits|\
     tables|table|content|contents|code|tests|backup|accounts|resources|containers|pods|deployments|\
     collections|repos|databases|volumes|changes|stuff|tree",
);

/// Words that may follow the object without making it part of another noun ("the database and …").
pub(crate) const AFTER_AN_OBJECT: List = List(
    ",|and|then|from|on|in|now|please|before|after|completely|to|with|for|at|under|inside|again|\
     recursively|permanently|immediately|first|so|or|without|of|here|entirely|forever|clean|recreate|\
     there|by|using|via|except|but|if|as|that|too",
);
