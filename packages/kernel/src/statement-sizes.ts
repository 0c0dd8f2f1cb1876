const MAX_ROWS = 32

/**
 * Divides rows into groups of 32, 16, 8, 4, 2 and 1. A statement over several rows then has few different texts, so that a server
 * can keep all of them prepared.
 */
export function splitForStatements<Row>(rows: readonly Row[]): readonly (readonly Row[])[] {
  const groups: (readonly Row[])[] = []
  for (let from = 0, size = MAX_ROWS; from < rows.length;) {
    while (size > rows.length - from) size /= 2
    groups.push(rows.slice(from, from + size))
    from += size
  }
  return groups
}
