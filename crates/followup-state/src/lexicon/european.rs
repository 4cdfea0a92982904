//! Languages of Europe in Latin script.

use super::{BLANK, Language, List};
use crate::filter::Destroy;

pub(super) const GERMAN: Language = Language {
    done: List("fertig|erledigt|alles erledigt"),
    nothing: List("kein vorschlag|keine vorschläge|stille|nichts"),
    nothing_start: List("kein vorschlag|nichts vorzuschlagen"),
    labels: List("vorschlag|antwort|nächster schritt|benutzer|hinweis"),
    one_word: List("ja|nein|weiter|stopp|abbrechen|committen|pushen|testen|fortfahren|mach|genau"),
    lead_ins: List("okay|gut|jetzt|also|ja"),
    ask_start: List(
        "was|warum|wieso|wie|wo|wer|wann soll|welche|welcher|welches|soll ich|sollen wir|sollte ich|\
         kann ich|können wir|möchtest du|möchten sie|willst du|gibt es|ist das|ist es",
    ),
    ask_start_except: List("wie besprochen|wie gehabt|was fehlt ergänzen"),
    praise: List(
        "super|toll|perfekt|klasse|prima|wunderbar|ausgezeichnet|hervorragend|sehr gut|spitze|großartig|\
         passt|genial|schön|sehr schön|sieht super aus",
    ),
    praise_start: List(
        "danke|vielen dank|dankeschön|gute arbeit|tolle arbeit|sieht gut aus|das sieht gut|\
         das sieht super|das sieht toll|gut gemacht|klingt gut|das funktioniert|das passt|super gemacht|\
         das ist super|das ist toll|das ist perfekt|funktioniert super|das klingt gut|super arbeit",
    ),
    voice: List(
        "lass mich|lassen sie mich|ich werde|ich habe|ich kann|ich bin|ich denke|ich würde|hier ist|\
         hier sind|das ist|dies ist|natürlich|selbstverständlich|du kannst|sie können|gerne|\
         entschuldigung|du solltest",
    ),
    destroy: &[Destroy {
        verbs: List("lösche|lösch|löschen|entferne|vernichte|zerstöre|formatiere|leere|überschreibe"),
        objects: List(
            "alle dateien|alle daten|alles|alle ordner|alle tabellen|datenbank|repository|repo|\
             festplatte|backups|produktion|gesamte projekt|ganze projekt|alle änderungen",
        ),
        between: List("die|das|den|komplette|gesamte|ganze"),
    }],
    destructive: List(
        "erzwinge den push|erzwungener push|alle dateien löschen|alles löschen|datenbank löschen|\
         festplatte formatieren|alle daten löschen",
    ),
    praise_end: List("danke|vielen dank|danke schön"),
    ..BLANK
};

pub(super) const FRENCH: Language = Language {
    done: List("terminé|c'est fait|c'est terminé"),
    nothing: List("aucune suggestion|rien|silence"),
    nothing_start: List("aucune suggestion|rien à suggérer|pas de suggestion"),
    labels: List("réponse|prochaine étape|utilisateur|conseil"),
    one_word: List("oui|non|continue|continuer|arrête|valide|vas-y|d'accord|committe|pousse"),
    lead_ins: List("ok|bon|alors|maintenant|oui|d'abord"),
    ask_start: List(
        "pourquoi|comment faire|comment ça|comment puis|comment est|comment on|comment je|qu'est-ce|\
         est-ce|quel|quelle|quels|quelles|où|qui|combien|que faire|que dois|voulez-vous|veux-tu|dois-je|\
         puis-je|peux-tu me dire|souhaitez-vous|y a-t-il|quand faut",
    ),
    praise: List(
        "super|parfait|génial|excellent|bravo|très bien|magnifique|formidable|impeccable|nickel|\
         c'est parfait|c'est bon|c'est super|c'est génial|ça marche|top|merveilleux|fantastique",
    ),
    praise_start: List(
        "merci|beau travail|bon travail|excellent travail|super travail|bien joué|ça a l'air bien|\
         ça a l'air bon|c'est parfait|c'est super|c'est très bien|bien fait|ça fonctionne bien|\
         ça semble bien|ça fonctionne parfaitement|ça marche bien",
    ),
    voice: List(
        "laisse-moi|laissez-moi|permettez-moi|je vais|je peux|j'ai|je pense|je suis|je crois|voici|c'est|\
         ceci est|bien sûr|vous pouvez|tu peux|vous devriez|tu devrais|certainement|désolé",
    ),
    destroy: &[Destroy {
        verbs: List(
            "supprime|supprimer|supprimez|efface|effacer|effacez|détruis|détruire|vide|vider|formate|\
             formater",
        ),
        objects: List(
            "tous les fichiers|toutes les données|tous les dossiers|toutes les tables|tout|\
             base de données|dépôt|disque|disque dur|sauvegardes|tout le projet|tout le dépôt",
        ),
        between: List("la|le|les|ma|mon"),
    }],
    destructive: List("pousse en force|forcer le push|force le push"),
    praise_end: List("merci|merci beaucoup"),
    ..BLANK
};

pub(super) const SPANISH: Language = Language {
    done: List("listo|hecho|terminado"),
    nothing: List("ninguna sugerencia|sin sugerencias|nada|silencio"),
    nothing_start: List("sin sugerencia|ninguna sugerencia|nada que sugerir|no hay sugerencias"),
    labels: List("sugerencia|respuesta|siguiente paso|usuario"),
    one_word: List("sí|si|continúa|continua|continuar|sigue|adelante|detente|para|vale|confirma"),
    lead_ins: List("vale|bien|ahora|entonces|sí|primero"),
    ask_start: List(
        "qué|por qué|cómo|dónde|cuándo|cuál|quién|cuánto|debo|debería|quieres|quiere que|puedo|hay algo|\
         es esto",
    ),
    praise: List(
        "perfecto|genial|excelente|estupendo|muy bien|fantástico|bien hecho|increíble|maravilloso|\
         funciona|me gusta|buenísimo|bravo",
    ),
    praise_start: List(
        "gracias|muchas gracias|buen trabajo|gran trabajo|excelente trabajo|se ve bien|se ve genial|\
         suena bien|funciona bien|funciona perfecto|funciona perfectamente|me parece perfecto|\
         está perfecto|todo bien|tiene sentido|eso es todo|te agradezco",
    ),
    voice: List(
        "déjame|déjeme|permíteme|permítame|voy a|puedo|he|aquí está|aquí tienes|esto es|por supuesto|\
         claro que|puedes|puede|creo que|deberías|lo siento|ciertamente|estoy",
    ),
    destroy: &[Destroy {
        verbs: List("borra|borrar|elimina|eliminar|destruye|destruir|vacía|vaciar|formatea|formatear"),
        objects: List(
            "todos los archivos|todos los ficheros|todos los datos|todas las tablas|todas las carpetas|\
             todo|base de datos|repositorio|disco|disco duro|todo el proyecto",
        ),
        between: List("la|el|los|mi"),
    }],
    destructive: List("push forzado|fuerza el push|forzar el push"),
    praise_end: List("gracias"),
    ..BLANK
};

pub(super) const PORTUGUESE: Language = Language {
    done: List("pronto|feito|concluído"),
    nothing: List("nenhuma sugestão|sem sugestões|silêncio"),
    nothing_start: List("sem sugest|nenhuma sugestão|nada a sugerir"),
    labels: List("sugestão|próximo passo|usuário"),
    one_word: List("sim|não|continue|continua|pare|confirma|prossiga"),
    ask_start: List(
        "o que|por que|como faço|como posso|onde|quando devo|qual|quem|quanto|devo|você quer|quer que|\
         posso",
    ),
    praise: List(
        "perfeito|ótimo|excelente|muito bem|ficou ótimo|legal|maravilha|bom trabalho|parabéns|incrível|\
         funcionou",
    ),
    praise_start: List(
        "obrigado|obrigada|muito obrigado|valeu|bom trabalho|ótimo trabalho|ficou ótimo|ficou bom|\
         parece bom|isso funciona|faz sentido",
    ),
    voice: List(
        "deixe-me|deixa eu|permita-me|vou|eu vou|posso|aqui está|isso é|isto é|claro que|você pode|\
         eu acho|com certeza|desculpe|estou",
    ),
    destroy: &[Destroy {
        verbs: List("apague|apaga|apagar|exclua|excluir|delete|deletar|remova|destrua|formate"),
        objects: List(
            "todos os arquivos|todos os ficheiros|todos os dados|todas as tabelas|tudo|banco de dados|\
             base de dados|repositório|disco",
        ),
        between: List("o|a|os"),
    }],
    praise_end: List("obrigado|obrigada"),
    ..BLANK
};

pub(super) const ITALIAN: Language = Language {
    done: List("fatto|finito"),
    nothing: List("nessun suggerimento|silenzio"),
    nothing_start: List("nessun suggerimento|niente da suggerire"),
    labels: List("suggerimento|risposta|prossimo passo|utente"),
    one_word: List("sì|continua|procedi|ferma|conferma|certo"),
    ask_start: List(
        "cosa|che cosa|perché|come faccio|come posso|dove|quando devo|quale|chi|quanto|devo|vuoi che|\
         posso",
    ),
    praise: List(
        "perfetto|ottimo|bravo|molto bene|fantastico|eccellente|ben fatto|magnifico|funziona|bellissimo",
    ),
    praise_start: List(
        "grazie|ottimo lavoro|bel lavoro|buon lavoro|mi piace|sembra buono|sembra perfetto|va benissimo|\
         ha senso",
    ),
    voice: List(
        "fammi|lasciami|permettimi|posso|ecco|certamente|penso|ho|sto|questo è|puoi|dovresti|mi dispiace",
    ),
    destroy: &[Destroy {
        verbs: List("elimina|cancella|distruggi|eliminare|cancellare|formatta|svuota"),
        objects: List("tutti i file|tutti i dati|tutte le tabelle|tutto|database|repository|disco"),
        between: List("il|la|lo"),
    }],
    praise_end: List("grazie"),
    ..BLANK
};

pub(super) const DUTCH: Language = Language {
    done: List("klaar|gedaan"),
    one_word: List("nee|ga|doorgaan|verder|stoppen"),
    ask_start: List("waarom|hoe|waar|welke|zal ik|moet ik|wil je"),
    praise: List("perfect|geweldig|prima|mooi|uitstekend|top|fantastisch"),
    praise_start: List(
        "bedankt|dank je|dank u|dankjewel|goed gedaan|goed werk|mooi werk|ziet er goed uit|\
         het ziet er goed",
    ),
    voice: List("laat me|laat mij|ik zal|ik heb|ik kan|ik ga|hier is|hier zijn|natuurlijk|je kunt"),
    destroy: &[Destroy {
        verbs: List("verwijder|wis|vernietig"),
        objects: List("alle bestanden|alle gegevens|alles|database"),
        between: List("de|het"),
    }],
    ..BLANK
};

pub(super) const POLISH: Language = Language {
    done: List("gotowe|zrobione"),
    one_word: List("tak|nie|kontynuuj|dalej|stój|zatwierdź"),
    ask_start: List("co|dlaczego|czemu|jak to|jak mam|gdzie|kiedy mam|kto|czy|który|która|ile"),
    praise: List("świetnie|super|doskonale|idealnie|wspaniale|dobrze|ekstra|brawo|znakomicie"),
    praise_start: List("dzięki|dziękuję|dobra robota|świetna robota|wygląda dobrze|wygląda świetnie"),
    voice: List("pozwól|mogę|oto|oczywiście|możesz|zrobię|sprawdzę|myślę"),
    destroy: &[Destroy {
        verbs: List("usuń|skasuj|wyczyść|zniszcz"),
        objects: List("wszystkie pliki|wszystkie dane|wszystko|bazę danych|repozytorium|dysk"),
        between: List("całe|całą|cały"),
    }],
    ..BLANK
};

pub(super) const TURKISH: Language = Language {
    done: List("bitti|tamamlandı"),
    one_word: List("evet|hayır|devam|dur|tamam"),
    ask_start: List("neden|niçin|nasıl|nerede|hangi|kim|ne zaman|ne yap"),
    ask_end: List("mı|mi|mu|mü|mıyım|miyim|musun|misin|mıyız|miyiz"),
    praise: List("harika|mükemmel|güzel|süper|çok iyi|çok güzel|aferin|bravo|iyi iş"),
    praise_start: List(
        "teşekkür|teşekkürler|sağ ol|eline sağlık|iyi iş|harika iş|iyi görünüyor|harika görünüyor",
    ),
    voice: List("izin ver|izin verin|yapacağım|işte|tabii|elbette|kontrol edeyim|bence"),
    destroy: &[Destroy {
        verbs: List("sil|silin|temizle|yok et|biçimlendir"),
        objects: List("tüm dosyaları|bütün dosyaları|her şeyi|veritabanını|tüm verileri|diski"),
        between: List("tamamen"),
    }],
    ..BLANK
};
