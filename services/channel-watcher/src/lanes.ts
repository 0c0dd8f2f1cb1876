/** Work by id, a few side by side, each id at most once at a time. */
export type Lanes = {
  /** What is in hand already is done once more afterwards: the world may have changed meanwhile. */
  add(ids: Iterable<string>): void
  /** What is worked on now. */
  inHand(): readonly Promise<void>[]
  /** Resolves when nothing is in hand any more; what still waits is given up. */
  stop(): Promise<void>
}

/** @param act never rejects, and has a limit of its own: it holds up nobody but those for whom all lanes are taken */
export function lanes(most: number, act: (id: string) => Promise<void>): Lanes {
  const waiting = new Set<string>()
  const inHand = new Map<string, Promise<void>>()

  const fill = (): void => {
    for (const id of waiting) {
      if (inHand.size >= most) return
      if (inHand.has(id)) continue
      waiting.delete(id)
      inHand.set(id, work(id))
    }
  }
  async function work(id: string): Promise<void> {
    await act(id)
    inHand.delete(id)
    fill()
  }

  return {
    add(ids) {
      for (const id of ids) waiting.add(id)
      fill()
    },
    inHand: () => [...inHand.values()],
    async stop() {
      waiting.clear()
      await Promise.all(inHand.values())
    },
  }
}

type Sleep = (ms: number, signal: AbortSignal) => Promise<void>

/** Resolves when none of them has anything in hand, nor what came of it meanwhile, and after so long at the latest. */
export async function idleWithin(sleep: Sleep, ms: number, all: readonly Lanes[], signal: AbortSignal): Promise<void> {
  if (ms <= 0) return
  const over = new AbortController()
  const late = sleep(ms, AbortSignal.any([signal, over.signal]))
  const idle = async (): Promise<void> => {
    const work = all.flatMap((one) => one.inHand())
    if (work.length === 0 || over.signal.aborted) return
    await Promise.all(work)
    await idle()
  }
  await Promise.race([idle(), late])
  over.abort()
}
