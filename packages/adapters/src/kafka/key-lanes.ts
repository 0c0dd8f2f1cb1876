import type { slots } from '../shared/slots.ts'
import type { Received } from './received.ts'
import type { Window } from './window.ts'

export type Item = { readonly message: Received; readonly window: Window }

/**
 * A lane per key, lanes side by side as far as there are slots. Windows bound what is in them.
 * @param deliver false where all was stopped before the message was handled
 */
export function keyLanes(running: ReturnType<typeof slots>, deliver: (item: Item) => Promise<boolean>) {
  const lanes = new Map<string, Item[]>()

  async function run(key: string, lane: Item[]): Promise<void> {
    await running.take()
    for (let item = lane[0]; item; item = lane[0]) {
      if (!(await deliver(item))) return running.giveBack()
      lane.shift()
      item.window.done(item.message.offset)
    }
    lanes.delete(key)
    running.giveBack()
  }
  return {
    /** Puts a message behind others of its key. @returns the task of a lane that is begun by it */
    put(item: Item): Promise<void> | undefined {
      const { key } = item.message
      const lane = lanes.get(key)
      if (lane) {
        // What is published again while it waits must not fill the window; the first of them holds its place.
        if (lane.some((waiting) => isCopy(waiting, item))) item.window.done(item.message.offset)
        else lane.push(item)
        return undefined
      }
      const opened = [item]
      lanes.set(key, opened)
      return run(key, opened)
    },
  }
}

const isCopy = (waiting: Item, { message, window }: Item): boolean =>
  waiting.message.id === message.id && waiting.window === window
