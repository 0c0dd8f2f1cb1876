import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { idsOf, listen, message, several, until } from './bus-listen.contract.ts'
import { parking, replaying } from './bus-parked.contract.ts'
import type { Bus, BusMessage, Handled } from './bus.ts'

/** A bus's data and what can be done to it from outside. */
export type BusWorld = {
  /** A bus on this world's data, with a first back-off of a few milliseconds. The world closes it. */
  open(): Promise<Bus>
  /** Closes what `open` gave last and opens the data again. */
  reopen(): Promise<Bus>
  /** Another process publishes messages, handles some and is killed (SIGKILL). @returns the ids that it handled to the end */
  crash?(moment: CrashMoment, topic: string, messages: readonly BusMessage[]): Promise<readonly string[]>
  teardown(): Promise<void>
}

/** 'published': after the publish, before any handler. Else in or after the handler of the third message. */
export type CrashMoment = 'published' | 'in-handler' | 'handled' | 'parked'

export type BusFeatures = { readonly processes: boolean }

type Make = () => Promise<BusWorld>
type Here = { readonly world: () => BusWorld; readonly bus: () => Bus }

/** What every bus does, whatever it is made of. */
export function busContract(name: string, open: Make, features: BusFeatures = { processes: false }): void {
  describe(`bus: ${name}`, () => {
    let world: BusWorld
    let bus: Bus
    beforeEach(async () => {
      world = await open()
      bus = await world.open()
    })
    afterEach(() => world.teardown())
    const here = { world: () => world, bus: () => bus }
    const suites = {
      delivery: delivering,
      'order and back-pressure': ordering,
      faults: failing,
      'parked keys': parking,
      replay: replaying,
      closing,
      ...(features.processes && { 'a killed process': crashing }),
    }
    for (const [title, suite] of Object.entries(suites))
      describe(`${title}:`, () => {
        suite(here)
      })
  })
}

function delivering({ bus, world }: Here): void {
  it('hands over what was published before and after the subscription, unchanged', async () => {
    const [before, after] = [message('a', { text: 'é 🦫' }), message('a', { amount: '1' })]
    await bus().publish('orders', [before])
    const { seen } = await listen(bus())
    await bus().publish('orders', [after])
    await until(() => seen.length === 2, 'both messages')
    expect(seen).toEqual([before, after])
  })
  it('lets every group see everything, and a topic only its own', async () => {
    const [orders, holds] = [several('a', 3), several('a', 2)]
    const readers = await Promise.all(['one', 'two'].map((group) => listen(bus(), undefined, { group })))
    const other = await listen(bus(), undefined, { group: 'one', topic: 'holds' })
    await Promise.all([bus().publish('orders', orders), bus().publish('holds', holds)])
    await until(() => readers.every(({ seen }) => seen.length === 3) && other.seen.length === 2, 'messages in both topics')
    for (const { seen } of readers) expect(idsOf(seen)).toEqual(idsOf(orders))
    expect(idsOf(other.seen)).toEqual(idsOf(holds))
  })
  it('goes on where it was after a restart', async () => {
    const first = await listen(bus())
    await bus().publish('orders', several('a', 5))
    await until(() => first.seen.length === 5, 'the first five')
    const again = await world().reopen()
    const next = message('a')
    await again.publish('orders', [next])
    const { seen } = await listen(again)
    await until(() => seen.length > 0, 'the next one')
    expect(idsOf(seen)).toEqual([next.id])
  })
  it('hands over once more what was not done when it was closed', async () => {
    const messages = several('a', 3)
    const handler = async ({ id }: BusMessage): Promise<Handled> => {
      if (id === messages[1]?.id) throw new Error('not now')
      return 'done'
    }
    const { seen } = await listen(bus(), handler)
    await bus().publish('orders', messages)
    await until(() => seen.length === 1, 'the first one')
    const later = await listen(await world().reopen())
    await until(() => later.seen.length === 2, 'the others')
    expect(idsOf(later.seen)).toEqual(idsOf(messages.slice(1)))
  })
}

function ordering({ bus }: Here): void {
  it('keeps the order of each key, one call at a time', async () => {
    const inHand = new Set<string>()
    const { seen } = await listen(bus(), async ({ key }) => {
      expect(inHand.has(key)).toBe(false)
      inHand.add(key)
      await new Promise((resolve) => setImmediate(resolve))
      inHand.delete(key)
      return 'done'
    })
    const published: BusMessage[] = []
    for (let round = 0; round < 40; round++) {
      const batch = Array.from({ length: 25 }, (_, n) => message(`key-${(n * 7 + round) % 10}`))
      published.push(...batch)
      await bus().publish('orders', batch)
    }
    await until(() => seen.length === published.length, 'all messages')
    for (let n = 0; n < 10; n++) {
      const ofKey = (list: readonly BusMessage[]) => idsOf(list.filter(({ key }) => key === `key-${n}`))
      expect(ofKey(seen)).toEqual(ofKey(published))
    }
  })
  it('works on as many keys at once as it may, and on no more', async () => {
    let [running, most] = [0, 0]
    const { seen } = await listen(
      bus(),
      async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 2))
        running--
        return 'done'
      },
      { concurrency: 4 },
    )
    await bus().publish(
      'orders',
      Array.from({ length: 100 }, (_, n) => message(`key-${n}`)),
    )
    await until(() => seen.length === 100, 'all messages')
    expect(most).toBe(4)
  })
  it('is not held up by a key with a long queue', async () => {
    const gate = Promise.withResolvers<void>()
    const { seen } = await listen(bus(), async ({ key }) => {
      if (key === 'slow') await gate.promise
      return 'done'
    })
    const slow = several('slow', 300)
    await bus().publish('orders', slow)
    await bus().publish('orders', several('quick', 3))
    await until(() => seen.length === 3, 'the quick key')
    gate.resolve()
    await until(() => seen.length === 303, 'the slow key')
    expect(idsOf(seen.slice(3))).toEqual(idsOf(slow))
  })
  it('never reorders a key in a group that is subscribed twice', async () => {
    const order: string[] = []
    const handler = async ({ id }: BusMessage): Promise<Handled> => {
      await new Promise((resolve) => setImmediate(resolve))
      order.push(id)
      return 'done'
    }
    await Promise.all([listen(bus(), handler), listen(bus(), handler)])
    const messages = several('a', 60)
    for (let n = 0; n < 60; n += 6) await bus().publish('orders', messages.slice(n, n + 6))
    await until(() => order.length === 60, 'all messages')
    expect(order).toEqual(idsOf(messages))
  })
}

function failing({ bus }: Here): void {
  it('calls again, in order, until the handler is done', async () => {
    let faults = 4
    const { seen } = await listen(bus(), async () => {
      if (faults-- > 0) throw new Error('not yet')
      return 'done'
    })
    const messages = several('a', 3)
    await bus().publish('orders', messages)
    await until(() => seen.length === 3, 'all messages')
    expect(idsOf(seen)).toEqual(idsOf(messages))
  })
  it('goes on with other keys while some fail, be they more than may run at once', async () => {
    let broken = true
    const { seen } = await listen(
      bus(),
      async ({ key }) => {
        if (broken && key.startsWith('broken')) throw new Error('the node is away')
        return 'done'
      },
      { concurrency: 2 },
    )
    await bus().publish(
      'orders',
      Array.from({ length: 8 }, (_, n) => message(`broken-${n}`)),
    )
    await bus().publish('orders', several('fine', 20))
    await until(() => seen.length === 20, 'the key that works')
    broken = false
    await until(() => seen.length === 28, 'the others, once they work')
  })
}

function closing({ bus }: Here): void {
  it('waits for what is in hand and takes nothing more', async () => {
    const gate = Promise.withResolvers<void>()
    const calls: string[] = []
    const { seen, running } = await listen(bus(), async ({ id }) => {
      calls.push(id)
      await gate.promise
      return 'done'
    })
    const messages = several('a', 3)
    await bus().publish('orders', messages)
    await until(() => calls.length === 1, 'a call')
    let closed = false
    const closing_ = running.close().then(() => (closed = true))
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(closed).toBe(false)
    gate.resolve()
    await closing_
    expect(idsOf(seen)).toEqual([messages[0]?.id])
    const rest = await listen(bus())
    await until(() => rest.seen.length === 2, 'the rest, for the next subscriber')
    expect(idsOf(rest.seen)).toEqual(idsOf(messages.slice(1)))
  })
  it('leaves the work to the other where one of two goes', async () => {
    const [one, two] = [await listen(bus()), await listen(bus())]
    await one.running.close()
    await bus().publish('orders', several('a', 10))
    await until(() => two.seen.length === 10, 'all messages')
  })
  it('does not wait for a back-off', async () => {
    let calls = 0
    const { running } = await listen(bus(), async () => {
      calls++
      throw new Error('never')
    })
    await bus().publish('orders', several('a', 1))
    await until(() => calls > 0, 'a call')
    await running.close()
  })
}

function crashing({ world, bus }: Here): void {
  for (const moment of ['published', 'in-handler', 'handled', 'parked'] as const)
    it(`loses nothing and keeps the order when it dies: ${moment}`, async () => {
      const messages = several('a', 5)
      const handled = await world().crash?.(moment, 'orders', messages)
      const { seen } = await listen(bus())
      if (moment === 'parked') {
        await until(async () => (await bus().parked())[0]?.messages === 3, 'the third and later messages set aside')
        await bus().replay({ group: 'readers', topic: 'orders', key: 'a' })
      }
      await until(() => seen.at(-1)?.id === messages.at(-1)?.id, 'the last message')
      const again = idsOf(seen)
      // What was done may come once more; what was not done comes, and all of it in order.
      expect(again).toEqual(idsOf(messages).slice(messages.length - again.length))
      expect([...new Set([...(handled ?? []), ...again])].sort()).toEqual(idsOf(messages).sort())
    })
}
