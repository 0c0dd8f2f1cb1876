import type { FollowOptions, StoredEvent } from '@penstock/ports/event-store.ts'

/** Pages of the log for followers, each with the position up to which the log was read. */
export type FollowSource = {
  page(
    after: bigint | 'start',
    max: number,
    categories: readonly string[],
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly until: bigint }>
}

type Follower = {
  readonly categories: readonly string[]
  readonly soleReaderOf: readonly string[]
  position: bigint | 'start'
  isWaiting: boolean
  hasMissed: boolean
  wake: () => void
}

const PAGE_SIZE = 256

/** All followers of a store. A commit in its categories wakes a follower; other commits only advance a waiting follower. */
export function createLogFollowers(source: FollowSource) {
  const followers = new Set<Follower>()
  let closed = false

  /** Wakes the followers of the grown categories, or all. Other waiting followers advance to the last position of the log. */
  function wake(grownCategories?: ReadonlySet<string>, lastPosition?: bigint): void {
    for (const follower of followers) {
      if (!grownCategories || follower.categories.some((category) => grownCategories.has(category))) {
        follower.hasMissed = true
        follower.wake()
      } else if (follower.isWaiting && lastPosition !== undefined) follower.position = lastPosition
    }
  }

  async function* follow({
    categories,
    after,
    soleReaderOf = [],
    signal,
  }: FollowOptions): AsyncGenerator<readonly StoredEvent[]> {
    const follower: Follower = { categories, soleReaderOf, position: after, isWaiting: false, hasMissed: false, wake: () => {} }
    const interrupt = (): void => follower.wake()
    signal.addEventListener('abort', interrupt)
    followers.add(follower)
    try {
      while (!signal.aborted && !closed) {
        follower.hasMissed = false
        const { events, until } = await source.page(follower.position, PAGE_SIZE, categories)
        follower.position = until
        if (events.length > 0) yield events
        // A commit after a page that is not full wakes the follower, so that no second read has to find the end of the log.
        if (events.length < PAGE_SIZE) await waitForWake(follower, () => signal.aborted || closed)
      }
    } finally {
      signal.removeEventListener('abort', interrupt)
      followers.delete(follower)
    }
  }

  return {
    follow,
    wake,
    /** Whether each of these categories has its sole reader in this process. */
    areReadHere: (categories: Iterable<string>): boolean =>
      [...categories].every((category) => [...followers].some(({ soleReaderOf }) => soleReaderOf.includes(category))),
    close(): void {
      closed = true
      for (const follower of followers) follower.wake()
    },
  }
}

/** Waits for a wake-up. It returns at once if a wake-up arrived during the last read. */
async function waitForWake(follower: Follower, isOver: () => boolean): Promise<void> {
  if (follower.hasMissed || isOver()) return
  follower.isWaiting = true
  await new Promise<void>((resolve) => {
    follower.wake = resolve
  })
  follower.isWaiting = false
}
