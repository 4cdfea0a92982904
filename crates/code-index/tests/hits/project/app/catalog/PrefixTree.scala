package shop.catalog

/** Titles by their first letters, for suggestions while somebody types. */
final class PrefixTree {
  private val children = scala.collection.mutable.Map.empty[Char, PrefixTree]
  private var titles = List.empty[String]

  def insert(title: String): Unit =
    title.toLowerCase.foldLeft(this) { (node, letter) =>
      node.children.getOrElseUpdate(letter, new PrefixTree)
    }.titles ::= title

  /** Up to `limit` titles that begin so. */
  def startingWith(prefix: String, limit: Int): List[String] =
    find(prefix.toLowerCase.toList).map(_.all.take(limit)).getOrElse(Nil)

  private def find(letters: List[Char]): Option[PrefixTree] = letters match {
    case Nil => Some(this)
    case letter :: rest => children.get(letter).flatMap(_.find(rest))
  }

  private def all: List[String] = titles ++ children.values.flatMap(_.all)
}
