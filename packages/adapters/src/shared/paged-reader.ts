import type { KeyQueueSource, SequencedMessage } from './key-queue-source.ts'

const PAGE_SIZE = 64

/** Reads the messages of a topic one after the other, in pages. */
export function createPagedReader(source: KeyQueueSource) {
  let page: readonly SequencedMessage[] = []
  let next = 0
  let takenUpTo = source.progress()
  let atEnd = false
  return {
    /** Sequence number of the last taken message. */
    takenUpTo: () => takenUpTo,
    /** @param hasGrown whether messages may have been added; if not, the end of the log is not read again */
    peek(hasGrown: boolean): SequencedMessage | undefined {
      if (hasGrown) atEnd = false
      if (next === page.length && !atEnd) {
        page = source.read(takenUpTo, PAGE_SIZE)
        next = 0
        atEnd = page.length < PAGE_SIZE
      }
      return page[next]
    },
    take({ seq }: SequencedMessage): void {
      next++
      takenUpTo = seq
    },
  }
}
