import type { LaneSource, Sequenced } from './lane-source.ts'

const PAGE = 64

/** The topic's messages one after the other, read a few at a time. */
export function pages(source: LaneSource) {
  let page: readonly Sequenced[] = []
  let next = 0
  let seen = source.progress()
  return {
    /** Up to where messages were taken. */
    seen: () => seen,
    peek(): Sequenced | undefined {
      if (next === page.length) {
        page = source.read(seen, PAGE)
        next = 0
      }
      return page[next]
    },
    take({ seq }: Sequenced): void {
      next++
      seen = seq
    },
  }
}
