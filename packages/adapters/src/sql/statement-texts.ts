/**
 * Keeps the text of a statement for each number of rows. Kysely needs longer to build and compile a frequent statement than the
 * database needs to run it.
 */
export function keepTexts(compile: (rowCount: number) => string): (rowCount: number) => string {
  const texts = new Map<number, string>()
  return (rowCount) => {
    const text = texts.get(rowCount) ?? compile(rowCount)
    texts.set(rowCount, text)
    return text
  }
}
