import type { FollowOptions, StoredEvent } from '@penstock/ports/event-store.ts'

/** What a store tells its followers: pages of the log, with the position up to which it was looked through. */
export type FollowSource = {
  page(
    after: bigint | 'start',
    max: number,
    categories: readonly string[],
  ): Promise<{ readonly events: readonly StoredEvent[]; readonly until: bigint }>
}

type Follower = { categories: readonly string[]; position: bigint | 'start'; waiting: boolean; missed: boolean; wake: () => void }

const PAGE = 256

/** Everybody who follows a store: woken after commits of their categories, moved along for free by those of others. */
export function follows(source: FollowSource) {
  const followers = new Set<Follower>()
  let closed = false

  /** Without arguments: anything may have come. Else categories that grew, and the last position of the log. */
  function wake(touched?: ReadonlySet<string>, last?: bigint): void {
    for (const follower of followers) {
      if (!touched || follower.categories.some((category) => touched.has(category))) {
        follower.missed = true
        follower.wake()
      } else if (follower.waiting && last !== undefined) follower.position = last
    }
  }

  async function* follow({ categories, after, signal }: FollowOptions): AsyncGenerator<readonly StoredEvent[]> {
    const follower: Follower = { categories, position: after, waiting: false, missed: false, wake: () => {} }
    const interrupt = (): void => follower.wake()
    signal.addEventListener('abort', interrupt)
    followers.add(follower)
    try {
      while (!signal.aborted && !closed) {
        follower.missed = false
        const { events, until } = await source.page(follower.position, PAGE, categories)
        follower.position = until
        if (events.length > 0) yield events
        else await rest(follower, () => signal.aborted || closed)
      }
    } finally {
      signal.removeEventListener('abort', interrupt)
      followers.delete(follower)
    }
  }

  return {
    follow,
    wake,
    close(): void {
      closed = true
      for (const follower of followers) follower.wake()
    },
  }
}

/** Waits until somebody wakes the follower; what came while it was reading counts. */
async function rest(follower: Follower, over: () => boolean): Promise<void> {
  if (follower.missed || over()) return
  follower.waiting = true
  await new Promise<void>((resolve) => {
    follower.wake = resolve
  })
  follower.waiting = false
}
