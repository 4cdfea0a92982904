//! German, French, Spanish, Portuguese, Russian: orders that destroy, praise and thanks, the assistant's voice, and the
//! words by which a user answers.

use super::{BLANK, Destroy, Language, List};

pub(super) const GERMAN: Language = Language {
    one_word: List("ja|jo|klar|gerne|weiter|nein|committe|pushe"),
    lead_ins: List("ja|jetzt|nun|dann|also|bitte|super|gut"),
    praise: List(
        "danke|danke schön|danke dir|dankeschön|vielen dank|super|perfekt|toll|klasse|prima|sehr gut|sehr schön|\
         großartig|wunderbar|ausgezeichnet|alles gut|passt alles",
    ),
    praise_start: List(
        "danke|vielen dank|besten dank|tausend dank|sieht gut aus|das sieht gut aus|sieht super aus|gut gemacht|\
         gute arbeit|super gemacht|tolle arbeit",
    ),
    orders: List(
        "commit|committe|pushe|push|führ|führe|mach|starte|schreib|schreibe|behebe|teste|füge|ändere|benenn|merge|lass|\
         nimm|bau|baue|aktualisiere",
    ),
    voice: List(
        "ich werde|ich habe|ich kann|ich könnte|ich würde|lass mich|lassen sie mich|hier ist|hier sind|hier ein|\
         gerne helfe|selbstverständlich",
    ),
    destroy: &[Destroy {
        verbs: List(
            "lösch|lösche|löschen|löscht|entferne|entfern|entfernen|vernichte|vernichten|zerstöre|zerstören|leere|leeren|\
             formatiere|formatieren|überschreibe|verwirf|verwerfe|verwerfen",
        ),
        objects: List(
            "alle dateien|alle daten|alle tabellen|alle ordner|alle verzeichnisse|alle branches|alle änderungen|\
             alle commits|alle backups|die datenbank|datenbank|das repository|das repo|repository|die festplatte|\
             festplatte|das projekt|das ganze projekt|den cluster|das backup|die backups|die historie|den server",
        ),
        alone: List("alles|alles und|alle"),
        between: List("die|das|den|komplett|vollständig|sofort|bitte|jetzt|einfach|auf dem server"),
    }],
    ..BLANK
};

pub(super) const FRENCH: Language = Language {
    one_word: List("oui|ouais|continue|non|vas-y"),
    lead_ins: List("oui|maintenant|alors|bon|super|parfait"),
    praise: List(
        "merci|merci beaucoup|merci bien|parfait|super|génial|excellent|bravo|très bien|bien joué|impeccable|\
         c'est parfait|c'est super|c'est génial|c'est très bien",
    ),
    praise_start: List(
        "merci|bravo|bon travail|beau travail|excellent travail|bien joué|ça a l'air bien|ça a l'air bon|ça marche bien",
    ),
    orders: List(
        "commite|commit|pousse|push|lance|continue|ajoute|corrige|écris|mets|fais|fusionne|renomme|exécute|passe|vas-y",
    ),
    voice: List(
        "je vais|je peux|je pourrais|j'ai|je suis|laisse-moi|laissez-moi|voici|voilà|je te propose|je vous propose",
    ),
    destroy: &[Destroy {
        verbs: List(
            "supprime|supprimer|supprimez|efface|effacer|effacez|détruis|détruire|détruisez|vide|vider|videz|écrase|\
             écraser|formate|formater|formatez|purge|purger|enlève|enlever",
        ),
        objects: List(
            "tous les fichiers|toutes les données|toutes les tables|tous les dossiers|toutes les branches|\
             tous les changements|toutes les modifications|tous les commits|toutes les sauvegardes|la base de données|\
             base de données|le dépôt|dépôt|le disque|disque dur|le projet|tout le projet|le cluster|les sauvegardes|\
             l'historique|le serveur",
        ),
        alone: List("tout|tout et"),
        between: List("le|la|les|complètement|entièrement|maintenant"),
    }],
    ..BLANK
};

pub(super) const SPANISH: Language = Language {
    one_word: List("sí|vale|continúa|sigue|adelante|dale|claro"),
    lead_ins: List("sí|ahora|entonces|bueno|vale|perfecto|genial"),
    praise: List(
        "gracias|muchas gracias|mil gracias|perfecto|genial|excelente|estupendo|muy bien|bien hecho|buen trabajo|\
         está perfecto|fantástico",
    ),
    praise_start: List(
        "gracias|muchas gracias|mil gracias|buen trabajo|gran trabajo|bien hecho|se ve bien|está muy bien|\
         está perfecto",
    ),
    orders: List(
        "haz|sube|ejecuta|corre|continúa|sigue|añade|agrega|arregla|corrige|escribe|fusiona|renombra|commit|push|lanza|\
         pasa|súbelo|actualiza",
    ),
    voice: List(
        "voy a|puedo|podría|he hecho|he terminado|he añadido|he creado|he corregido|déjame|déjeme|permíteme|aquí está|\
         aquí están|aquí tienes|te propongo",
    ),
    destroy: &[Destroy {
        verbs: List(
            "borra|borrar|borre|borren|elimina|eliminar|elimine|destruye|destruir|vacía|vaciar|formatea|formatear|\
             sobrescribe|purga|purgar|descarta|descartar",
        ),
        objects: List(
            "todos los archivos|todos los ficheros|todos los datos|todas las tablas|todas las carpetas|todas las ramas|\
             todos los cambios|todos los commits|la base de datos|base de datos|el repositorio|repositorio|el disco|\
             disco duro|el proyecto|todo el proyecto|el clúster|las copias de seguridad|el historial|el servidor",
        ),
        alone: List("todo|todo y"),
        between: List("el|la|los|las|por completo|completamente|ahora"),
    }],
    ..BLANK
};

pub(super) const PORTUGUESE: Language = Language {
    one_word: List("sim|claro|continua|continue|prossiga|beleza"),
    lead_ins: List("sim|agora|então|bom|ótimo|perfeito"),
    praise: List(
        "obrigado|obrigada|muito obrigado|muito obrigada|valeu|perfeito|ótimo|excelente|muito bom|muito bem|bom trabalho|\
         ficou ótimo|ficou bom|maravilha",
    ),
    praise_start: List(
        "obrigado|obrigada|muito obrigado|muito obrigada|bom trabalho|ótimo trabalho|ficou ótimo|ficou bom|\
         ficou perfeito",
    ),
    orders: List(
        "faça|faz|suba|sobe|rode|roda|execute|executa|continue|continua|adicione|corrija|escreva|commita|commite|\
         envie|commit|push|atualize",
    ),
    voice: List(
        "vou|eu vou|posso|eu posso|poderia|deixe-me|deixa eu|aqui está|aqui estão|eu fiz|eu adicionei|eu corrigi",
    ),
    destroy: &[Destroy {
        verbs: List(
            "apaga|apagar|apague|exclua|excluir|exclui|delete|deleta|deletar|elimina|eliminar|elimine|remove|remova|\
             remover|destrói|destruir|formata|formatar|descarta|descarte",
        ),
        objects: List(
            "todos os arquivos|todos os ficheiros|todos os dados|todas as tabelas|todas as pastas|todos os branches|\
             todas as mudanças|todas as alterações|todos os commits|o banco de dados|banco de dados|a base de dados|\
             base de dados|o repositório|repositório|o disco|o projeto|todo o projeto|o cluster|os backups|o histórico|\
             o servidor",
        ),
        alone: List("tudo|tudo e"),
        between: List("completamente|por completo|agora"),
    }],
    ..BLANK
};

pub(super) const RUSSIAN: Language = Language {
    lead_ins: List("да|теперь|тогда|хорошо|ну|отлично|ок"),
    praise: List(
        "спасибо|спасибо большое|большое спасибо|отлично|супер|прекрасно|замечательно|великолепно|класс|молодец|круто|\
         идеально|здорово|всё отлично|все отлично",
    ),
    praise_start: List(
        "спасибо|большое спасибо|благодарю|хорошая работа|отличная работа|выглядит хорошо|выглядит отлично",
    ),
    orders: List(
        "сделай|закоммить|закоммити|запушь|запусти|продолжай|добавь|исправь|напиши|переименуй|давай|отправь|обнови|\
         проверь|закрой",
    ),
    voice: List(
        "я буду|я сделаю|я могу|я мог бы|я сейчас|я начну|я добавлю|я исправлю|я создам|я удалю|я внесу|я напишу|\
         я запущу|я добавил|я исправил|давайте я|давай я|позвольте|вот код|вот список|вот результат|вот исправленный",
    ),
    destroy: &[Destroy {
        verbs: List(
            "удали|удалить|удалите|сотри|стереть|сотрите|уничтожь|уничтожить|снеси|снести|очисти|очистить|отформатируй|\
             форматировать|вычисти|дропни|сбрось|сбросить",
        ),
        objects: List(
            "все файлы|все данные|все таблицы|все папки|все каталоги|все ветки|все изменения|все коммиты|базу данных|\
             базу|бд|репозиторий|диск|проект|весь проект|кластер|бэкапы|все бэкапы|резервные копии|историю|сервер",
        ),
        alone: List("всё|все|всё и"),
        between: List("полностью|пожалуйста|сейчас|сразу"),
    }],
    ..BLANK
};
