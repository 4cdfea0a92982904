package shop.catalog

/** Orders search results by what was bought in the last month. */
object Ranking {
  def order(found: Seq[Product], sales: Map[Long, Int]): Seq[Product] =
    found.sortBy(product => -sales.getOrElse(product.id, 0))

  /** Removes accents and capitals, so that "Café" finds "cafe". */
  def normalize(text: String): String =
    java.text.Normalizer.normalize(text, java.text.Normalizer.Form.NFD).replaceAll("\\p{M}", "").toLowerCase
}
