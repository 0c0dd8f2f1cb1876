import type { BusMessage, Handled } from '@penstock/ports/bus.ts'

export type Handle = (message: BusMessage) => Promise<Handled>

/** Those who share the messages of a group and topic, taking turns, and the calls that each has in hand. */
export function handlers() {
  const calls = new Map<Handle, Set<Promise<Handled>>>()
  let turn = 0
  return {
    count: () => calls.size,
    add: (handle: Handle): void => void calls.set(handle, new Set()),
    /** Nothing more is given to this one. @returns a promise for what it has in hand */
    async remove(handle: Handle): Promise<void> {
      const pending = [...(calls.get(handle) ?? [])]
      calls.delete(handle)
      await Promise.allSettled(pending)
    },
    call: async ({ id, key, headers, body }: BusMessage): Promise<Handled> => {
      const handles = [...calls.keys()]
      const handle = handles[turn++ % handles.length]
      if (!handle) throw new Error('nobody is subscribed any more')
      const answer = handle({ id, key, headers, body })
      const pending = calls.get(handle)
      pending?.add(answer)
      try {
        return await answer
      } finally {
        pending?.delete(answer)
      }
    },
  }
}
