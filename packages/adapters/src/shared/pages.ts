import type { LaneSource, Sequenced } from './lane-source.ts'

const PAGE = 64

/** The topic's messages one after the other, read a few at a time. */
export function pages(source: LaneSource) {
  let page: readonly Sequenced[] = []
  let next = 0
  let seen = source.progress()
  let atEnd = false
  return {
    /** Up to where messages were taken. */
    seen: () => seen,
    /** @param hasGrown whether messages may have been added; without that the end of the log is not read again */
    peek(hasGrown: boolean): Sequenced | undefined {
      if (hasGrown) atEnd = false
      if (next === page.length && !atEnd) {
        page = source.read(seen, PAGE)
        next = 0
        atEnd = page.length < PAGE
      }
      return page[next]
    },
    take({ seq }: Sequenced): void {
      next++
      seen = seq
    },
  }
}
