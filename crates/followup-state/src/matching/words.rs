//! The word lists of the comparison, in one place. Entries are written as texts are compared: lower case, without
//! accents and apostrophes, single blanks. A phrase matches whole words, save in scripts without spaces.

use crate::filter::{after_phrase, ends_with_phrase};
use crate::lexicon::List;

/// Words by which alone a user says yes to what was asked. Praise ("looks good") is not among them, because it may only
/// be praise.
pub(super) const YES: List = List(
    "y|ya|yes|yess|yeah|yep|yup|yea|aye|ok|okay|oki|k|kk|sure|sure thing|of course|absolutely|definitely|certainly|\
     alright|all right|go|go ahead|go for it|do it|do that|do so|do this|please do|proceed|continue|carry on|go on|\
     make it so|lets go|lets do it|lets do that|lets do this|agreed|approved|approve|affirmative|by all means|\
     yes do|👍|✅|\
     ja|jo|jup|jap|jawohl|klar|na klar|gern|gerne|mach das|mach es|machs|mach|mach mal|mach weiter|leg los|los|weiter|\
     einverstanden|in ordnung|nur zu|tu das|tu es|\
     oui|ouais|daccord|vas-y|vas y|allez-y|allez y|fais-le|fais le|faites-le|faites le|bien sur|continue|continuez|\
     si|vale|claro|dale|adelante|hazlo|por supuesto|de acuerdo|continua|sigue|procede|venga|\
     sim|pode|pode ir|pode fazer|vai|vai em frente|va em frente|faca|faz isso|faca isso|prossiga|beleza|manda ver|\
     com certeza|\
     да|ага|угу|ок|окей|хорошо|давай|давайте|конечно|делай|делайте|сделай|сделай это|вперед|продолжай|продолжайте|\
     валяй|согласен|согласна|\
     好的|好|好啊|好吧|可以|可以的|行|嗯|是|是的|对|對|对的|没问题|沒問題|同意|继续|繼續|开始|開始|做吧|去做|来吧|\
     はい|ええ|うん|オーケー|お願いします|おねがいします|お願い|それでお願いします|そうして|そうしてください|\
     それで|続けて|続けてください|進めて|進めてください|やって|やってください|どうぞ|了解|いいよ|\
     네|넵|넹|예|응|어|그래|그래요|좋아|좋아요|오케이|ㅇㅇ|ㅇㅋ|해줘|해 줘|해주세요|해 주세요|진행해|진행해줘|\
     진행해 줘|진행해주세요|진행해 주세요|계속|계속해|계속해줘|계속해 줘|계속해주세요|부탁해|부탁해요|부탁합니다|\
     부탁드립니다|그렇게 해|그렇게 해줘",
);

/// Words by which a user has work go on, whatever it is.
pub(super) const GO_ON: List = List(
    "continue|go on|keep going|carry on|proceed|weiter|mach weiter|weitermachen|continuez|sigue|continua|continue|\
     prossiga|продолжай|продолжайте|дальше|继续|繼續|続けて|続けてください|계속|계속해|계속해줘|계속해 줘|계속해주세요",
);

/// Small words that change nothing beside a yes.
pub(super) const BESIDE_YES: List = List(
    "please|pls|plz|now|then|so|just|right away|bitte|jetzt|dann|por favor|ahora|agora|sil te plait|sil vous plait|\
     stp|svp|maintenant|пожалуйста|сейчас|тогда|吧|请|請|啊|哦|呀|ね|よ|요",
);

/// What may stand before an order without changing it.
pub(super) const BEFORE: List = List(
    "y|yes|yeah|yep|yup|ok|okay|sure|alright|all right|please|pls|plz|now|so|then|well|hey|just|lets|let us|can you|\
     could you|would you|will you|can we|you can|you may|go ahead and|go ahead|i want you to|id like you to|\
     i would like you to|git|\
     ja|bitte|jetzt|nun|dann|kannst du|konntest du|oui|daccord|maintenant|alors|peux-tu|tu peux|\
     si|vale|ahora|entonces|puedes|por favor|sim|agora|entao|da|да|ок|теперь|тогда|пожалуйста|давай|\
     好的|好|可以|行|嗯|是的|没问题|沒問題|那就|那么|那|请|請|麻烦|帮我|幫我|现在|現在|就|\
     はい|ええ|うん|では|じゃあ|それでは|了解|네|예|응|그래|좋아|그럼|이제",
);

/// What may stand behind an order without changing it.
pub(super) const BEHIND: List = List(
    "please|pls|plz|now|then|thanks|thank you|thx|ty|for me|ok|okay|right away|immediately|\
     bitte|danke|jetzt|por favor|gracias|obrigado|obrigada|sil te plait|sil vous plait|stp|svp|merci|maintenant|\
     пожалуйста|спасибо|сейчас|吧|谢谢|謝謝|啊|哦|呀|ください|下さい|お願いします|ね|よ|주세요|줘요|줘|요|부탁해",
);

/// Words inside an order that point or are polite and carry nothing else.
pub(super) const FILLERS: List = List(
    "it|this|that|these|those|them|now|the|a|an|please|pls|ok|okay|then|just|\
     es|das|dies|diese|dieses|der|die|den|dem|ein|eine|einen|jetzt|nun|mal|bitte|dann|\
     le|la|les|un|une|ce|ca|cela|maintenant|alors|stp|svp|el|los|las|lo|esto|eso|ahora|entonces|\
     um|uma|isto|isso|agora|entao|это|этот|эту|эти|теперь|сейчас|тогда|пожалуйста",
);

/// What adds to an order, between it and what is added.
pub(super) const ADDS: List = List(
    "and|then|also|plus|as well as|additionally|after that|afterwards|next|finally|&|\
     und|dann|danach|ausserdem|anschliessend|zusatzlich|sowie|auch|et|puis|ensuite|aussi|egalement|\
     y|luego|despues|ademas|tambien|e|depois|entao|tambem|alem disso|и|потом|затем|также|еще|плюс|\
     然后|然後|再|并且|並且|并|接着|同时|同時|顺便|順便|另外|还要|还有|也|そして|それから|その後|ついでに|あと|また|\
     그리고|그 다음|그다음|그런 다음|또|또한|추가로",
);

/// Those of [`ADDS`] that only ever add: an order with one of them asks for more than its first part.
pub(super) const ADDS_ALWAYS: List = List(
    "then|also|plus|afterwards|danach|ausserdem|anschliessend|puis|ensuite|aussi|luego|despues|ademas|tambien|depois|\
     tambem|потом|затем|также|然后|然後|并且|並且|接着|顺便|順便|另外|そして|それから|その後|ついでに|그리고|그다음|또한",
);

/// Ends that add what stands before them.
pub(super) const ADDS_AT_END: List =
    List("too|as well|also|auch|ebenfalls|aussi|egalement|tambien|tambem|тоже|также");

/// Words that narrow an order or turn it into another one.
pub(super) const TURNS: List = List(
    "not|no|nope|nah|none|neither|nor|never|dont|doesnt|didnt|isnt|arent|wont|cant|cannot|couldnt|shouldnt|wouldnt|\
     but|however|though|although|except|unless|only|without|instead|rather|if|first|before|until|till|wait|hold|stop|\
     cancel|later|maybe|perhaps|or|otherwise|actually|yet|\
     nicht|kein|keine|keinen|keiner|nein|nee|aber|ohne|nur|ausser|wenn|falls|sondern|stattdessen|statt|anstatt|zuerst|\
     erst|bevor|vorher|oder|bis|warte|stopp|halt|spater|\
     ne|pas|non|mais|sans|sauf|seulement|uniquement|si|plutot|dabord|avant|lieu|attends|ou|jamais|aucun|aucune|rien|\
     tard|pero|sin|solo|solamente|excepto|salvo|primero|antes|vez|mejor|espera|nunca|ni|todavia|tampoco|\
     nao|mas|sem|apenas|somente|exceto|se|primeiro|nem|ainda|\
     не|нет|но|без|только|кроме|если|сначала|сперва|перед|прежде|вместо|или|пока|подожди|стоп|никогда|лучше|хотя|нельзя",
);

/// The same in scripts without spaces, wherever they stand.
pub(super) const TURNS_UNSPACED: List = List(
    "不|没有|沒有|还没|但|只|除了|除非|除外|以外|先|如果|要是|假如|或|还是|吗|嗎|呢|等等|等一下|等下|稍等|想想|考虑|算了|停|\
     也许|对吧|對吧|是吧|再说|再见|再等|别动|别改|别删|别用|先别|别再|\
     いいえ|ない|なく|ません|でも|しかし|ただ|だけ|のみ|除いて|もし|なら|まず|先に|前に|代わり|または|それとも|待って|\
     やめ|いや|ずに|後で|あとで|今度|まだ|\
     하지만|근데|그런데|그러나|다만|말고|말아|마세요|지 마|빼고|제외|아니|않|못|먼저|우선|대신|나중|만약|만일|잠깐|잠시|\
     기다|또는|거나|아직",
);

/// Words that narrow an order or turn it where what is added begins with them.
pub(super) const TURNS_AT_START: List = List(
    "keep|leave|skip|exclude|ignore|avoid|undo|revert|what|why|how|which|who|where|when|is|are|does|should|could|would|\
     behalte|lass|was|warum|wie|garde|laisse|pourquoi|comment|guarda|conserva|deja|mantenha|deixa|оставь|почему|как|别",
);

/// Words around the sign of an option that say no more than that it is the one.
pub(super) const AROUND_SIGN: List = List(
    "the|please|one|ones|option|options|choice|variant|alternative|number|numbers|num|nr|item|items|point|points|approach|\
     solution|plan|go with|go for|going with|take|pick|choose|use|do|try|implement|prefer|i prefer|id prefer|id go with|\
     i would go with|id take|i take|ill take|i will take|i want|id like|i would like|i choose|i pick|lets do|lets go with|lets use|\
     lets take|lets try|we go with|vote for|my pick is|my choice is|sounds good|looks good|is fine|is good|it is|works|\
     then|now|just|\
     die|das|der|den|bitte|nimm|nehmen wir|ich nehme|wir nehmen|mach|machen wir|variante|moglichkeit|nummer|punkt|\
     la|le|loption|numero|prends|prenons|on prend|je prends|choisis|va pour|\
     opcion|el|usa|toma|vamos con|elige|haz|prefiero|opcao|vamos com|escolho|prefiro|vai de|\
     вариант|вариантом|номер|пункт|давай|возьми|бери|выбираю|делай|\
     第|个|個|项|項|号|號|种|種|选项|選項|方案|选择|選擇|选|選|用|就|按|做|我选|我要|那就|吧|的|\
     番|番目|つ目|案|で|でいい|でお願いします|がいい|を|にして|にする|にします|お願いします|オプション|選択肢|\
     번|번째|째|옵션|으로|로|해줘|가자|할게|선택|하자",
);

/// What joins the signs of a set.
pub(super) const JOINS_SIGNS: List = List("and|&|und|et|y|e|и|和|与|跟|と|과|와|하고");

/// Numbers in words, as signs of options.
pub(super) const NUMBERS: &[(&str, List)] = &[
    (
        "1",
        List(
            "first|1st|option one|number one|choice one|eins|erste|ersten|erster|erstes|premier|premiere|uno|primero|\
             primera|primer|primeiro|primeira|один|первый|первая|первое|первую|一|첫|첫번째|하나",
        ),
    ),
    (
        "2",
        List(
            "second|2nd|two|zwei|zweite|zweiten|zweiter|zweites|deux|deuxieme|dos|segundo|segunda|dois|два|второй|\
             вторая|второе|вторую|二|두|두번째|둘",
        ),
    ),
    (
        "3",
        List(
            "third|3rd|three|drei|dritte|dritten|dritter|drittes|trois|troisieme|tres|tercero|tercera|tercer|terceiro|\
             terceira|три|третий|третья|третье|третью|三|세|세번째|셋",
        ),
    ),
    (
        "4",
        List(
            "fourth|4th|four|vier|vierte|vierten|quatre|quatrieme|cuatro|cuarto|cuarta|quatro|quarto|quarta|четыре|\
             четвертый|четвертая|четвертую|四|네번째|넷",
        ),
    ),
    (
        "5",
        List(
            "fifth|5th|five|funf|funfte|funften|cinq|cinquieme|cinco|quinto|quinta|пять|пятый|пятая|пятую|五|다섯번째|다섯",
        ),
    ),
    ("6", List("sixth|6th|six|sechs|sechste|seis|шесть|шестой|六")),
    ("7", List("seventh|7th|seven|sieben|siebte|sept|siete|sete|семь|седьмой|七")),
    ("8", List("eighth|8th|eight|acht|achte|huit|ocho|oito|восемь|восьмой|八")),
    ("9", List("ninth|9th|nine|neun|neunte|neuf|nueve|nove|девять|девятый|九")),
    ("10", List("tenth|10th|ten|zehn|zehnte|dix|diez|dez|десять|десятый|十")),
];

/// What follows the longest phrase of the list at the start of `text`.
pub(super) fn after_any(text: &str, list: List) -> Option<&str> {
    let rests = list.iter().filter_map(|phrase| after_phrase(text, phrase));
    rests.min_by_key(|rest| rest.len()).map(str::trim_start)
}

/// What stands before the longest phrase of the list at the end of `text`.
pub(super) fn before_any(text: &str, list: List) -> Option<&str> {
    let ends = list.iter().filter(|phrase| ends_with_phrase(text, phrase));
    let heads = ends.map(|phrase| &text[..text.len() - phrase.len()]);
    heads.min_by_key(|head| head.len()).map(str::trim_end)
}

/// The text without what the lists hold at its beginning and its end, unless nothing would be left.
pub(super) fn without_politeness(mut words: &str) -> &str {
    while let Some(rest) = after_any(words, BEFORE).filter(|rest| !rest.is_empty()) {
        words = rest;
    }
    while let Some(head) = before_any(words, BEHIND).filter(|head| !head.is_empty()) {
        words = head;
    }
    words
}

/// The words that are no fillers.
pub(super) fn meaningful(words: &str) -> impl Iterator<Item = &str> {
    words.split(' ').filter(|word| !word.is_empty() && !FILLERS.contains(word))
}

/// Whether the text is made of phrases of the list, at least one, and of words that change nothing beside them.
pub(super) fn is_made_of(words: &str, list: List) -> bool {
    let (mut rest, mut found) = (words, false);
    while !rest.is_empty() {
        rest = match (after_any(rest, list), after_any(rest, BESIDE_YES)) {
            (Some(after), _) => {
                found = true;
                after
            }
            (None, Some(after)) => after,
            (None, None) => return false,
        };
    }
    found
}
