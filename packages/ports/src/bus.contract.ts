import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { idsOf, subscribeAndRecord, createMessage, createMessages, waitForCondition } from './bus-recorder.fixture.ts'
import { testParking, testReplay } from './bus-parked.contract.ts'
import type { Bus, BusMessage, HandlerResult } from './bus.ts'

/** The data of a bus, and the actions of a test on it. */
export type BusFixture = {
  /** Opens a bus on the data, with a first back-off of a few milliseconds. The fixture closes it. */
  open(): Promise<Bus>
  /** Closes the last opened bus and opens the data again. */
  reopen(): Promise<Bus>
  /** The wall clock of the bus; by default the clock of this machine. */
  readonly now?: () => number
  /** Another process publishes messages, handles some and is killed (SIGKILL). @returns the ids of the handled messages */
  crash?(moment: CrashMoment, topic: string, messages: readonly BusMessage[]): Promise<readonly string[]>
  teardown(): Promise<void>
}

/** 'published': after the publish and before any handler. Other moments: in or after the handler of the third message. */
export type CrashMoment = 'published' | 'in-handler' | 'handled' | 'parked'

/** `processes`: whether other processes use the bus, too. With 'only', the cases without them are left out. */
export type BusFeatures = { readonly processes: boolean | 'only' }

type CreateFixture = () => Promise<BusFixture>
type SuiteContext = { readonly fixture: () => BusFixture; readonly bus: () => Bus }

/** Cases that every bus implementation must pass. */
export function busContract(name: string, open: CreateFixture, features: BusFeatures = { processes: false }): void {
  describe(`bus: ${name}`, () => {
    let fixture: BusFixture
    let bus: Bus
    beforeEach(async () => {
      fixture = await open()
      bus = await fixture.open()
    })
    afterEach(() => fixture.teardown())
    const here = { fixture: () => fixture, bus: () => bus }
    const suites = {
      ...(features.processes !== 'only' && {
        delivery: testDelivery,
        'order and back-pressure': testOrdering,
        faults: testFailures,
        'parked keys': testParking,
        replay: testReplay,
        closing: testClosing,
      }),
      ...(features.processes !== false && { 'a killed process': testCrashes }),
    }
    for (const [title, suite] of Object.entries(suites))
      describe(`${title}:`, () => {
        suite(here)
      })
  })
}

function testDelivery({ bus, fixture }: SuiteContext): void {
  it('delivers messages from before and after the subscription unchanged', async () => {
    const [before, after] = [createMessage('a', { text: 'é 🦫' }), createMessage('a', { amount: '1' })]
    await bus().publish('orders', [before])
    const { delivered } = await subscribeAndRecord(bus())
    await bus().publish('orders', [after])
    await waitForCondition(() => delivered.length === 2, 'both messages')
    expect(delivered).toEqual([before, after])
  })
  it('delivers every message of a topic to every group, and no message of another topic', async () => {
    const [orders, holds] = [createMessages('a', 3), createMessages('a', 2)]
    const readers = await Promise.all(['one', 'two'].map((group) => subscribeAndRecord(bus(), undefined, { group })))
    const other = await subscribeAndRecord(bus(), undefined, { group: 'one', topic: 'holds' })
    await Promise.all([bus().publish('orders', orders), bus().publish('holds', holds)])
    await waitForCondition(
      () => readers.every(({ delivered }) => delivered.length === 3) && other.delivered.length === 2,
      'messages in both topics',
    )
    for (const { delivered } of readers) expect(idsOf(delivered)).toEqual(idsOf(orders))
    expect(idsOf(other.delivered)).toEqual(idsOf(holds))
  })
  it('continues after the last handled message when it restarts', async () => {
    const first = await subscribeAndRecord(bus())
    await bus().publish('orders', createMessages('a', 5))
    await waitForCondition(() => first.delivered.length === 5, 'the first five')
    const reopened = await fixture().reopen()
    const next = createMessage('a')
    await reopened.publish('orders', [next])
    const { delivered } = await subscribeAndRecord(reopened)
    await waitForCondition(() => delivered.length > 0, 'the next one')
    expect(idsOf(delivered)).toEqual([next.id])
  })
  it('delivers messages again that were not handled before the close', async () => {
    const messages = createMessages('a', 3)
    const handler = async ({ id }: BusMessage): Promise<HandlerResult> => {
      if (id === messages[1]?.id) throw new Error('not now')
      return 'done'
    }
    const { delivered } = await subscribeAndRecord(bus(), handler)
    await bus().publish('orders', messages)
    await waitForCondition(() => delivered.length === 1, 'the first one')
    const later = await subscribeAndRecord(await fixture().reopen())
    await waitForCondition(() => later.delivered.length === 2, 'the others')
    expect(idsOf(later.delivered)).toEqual(idsOf(messages.slice(1)))
  })
}

function testOrdering({ bus }: SuiteContext): void {
  it('delivers the messages of a key in order, one call at a time', async () => {
    const activeKeys = new Set<string>()
    const { delivered } = await subscribeAndRecord(bus(), async ({ key }) => {
      expect(activeKeys.has(key)).toBe(false)
      activeKeys.add(key)
      await new Promise((resolve) => setImmediate(resolve))
      activeKeys.delete(key)
      return 'done'
    })
    const published: BusMessage[] = []
    for (let round = 0; round < 40; round++) {
      const batch = Array.from({ length: 25 }, (_, n) => createMessage(`key-${(n * 7 + round) % 10}`))
      published.push(...batch)
      await bus().publish('orders', batch)
    }
    await waitForCondition(() => delivered.length === published.length, 'all messages')
    for (let n = 0; n < 10; n++) {
      const ofKey = (list: readonly BusMessage[]) => idsOf(list.filter(({ key }) => key === `key-${n}`))
      expect(ofKey(delivered)).toEqual(ofKey(published))
    }
  })
  it('handles at most `concurrency` keys at once, and reaches this number', async () => {
    let [running, most] = [0, 0]
    const four = Promise.withResolvers<void>()
    const { delivered } = await subscribeAndRecord(
      bus(),
      async () => {
        most = Math.max(most, ++running)
        if (running === 4) four.resolve()
        // The first handlers run until the fourth has begun.
        await four.promise
        await new Promise((resolve) => setImmediate(resolve))
        running--
        return 'done'
      },
      { concurrency: 4 },
    )
    await bus().publish(
      'orders',
      Array.from({ length: 100 }, (_, n) => createMessage(`key-${n}`)),
    )
    await waitForCondition(() => delivered.length === 100, 'all messages')
    expect(most).toBe(4)
  })
  const createLowPriorityMessage = (key: string): BusMessage => ({ ...createMessage(key), headers: { unpaid: 'yes' } })
  /** Subscribes a handler in which low-priority messages wait for the gate, and others for `regularGate`. */
  async function gated(concurrency: number, regularGate = Promise.resolve()) {
    const gate = Promise.withResolvers<void>()
    const running = new Set<string>()
    let most = 0
    const { delivered } = await subscribeAndRecord(
      bus(),
      async ({ key, headers }) => {
        if (headers['unpaid'] !== 'yes') {
          await regularGate
          return 'done'
        }
        running.add(key)
        most = Math.max(most, running.size)
        await gate.promise
        running.delete(key)
        return 'done'
      },
      { concurrency, isLowPriority: ({ headers }) => headers['unpaid'] === 'yes' },
    )
    return { delivered, gate, running, most: () => most }
  }
  it('handles low-priority messages separately, so that no message of another key waits for them', async () => {
    const { delivered, gate, running, most } = await gated(2)
    const waiting = Array.from({ length: 10 }, (_, n) => createLowPriorityMessage(`late-${n}`))
    await bus().publish('orders', waiting)
    await waitForCondition(() => running.size === 2, 'every handler for low-priority messages busy')
    // `after` has the key of a running low-priority message, so it is delivered after that message.
    const [busyKey = ''] = running
    const [after, others] = [createMessage(busyKey), Array.from({ length: 10 }, (_, n) => createMessage(`paid-${n}`))]
    await bus().publish('orders', [after, ...others])
    await waitForCondition(() => delivered.length === 10, 'the others')
    expect(idsOf(delivered).toSorted()).toEqual(idsOf(others).toSorted())
    gate.resolve()
    await waitForCondition(() => delivered.length === 21, 'the low-priority messages, and the message behind one of them')
    expect(most()).toBe(2)
    const ofKey = delivered.filter(({ key }) => key === busyKey)
    expect(idsOf(ofKey)).toEqual([waiting.find(({ key }) => key === busyKey)?.id, after.id])
  })
  it('frees the handler of a key before a low-priority message of that key', async () => {
    const regularGate = Promise.withResolvers<void>()
    const { delivered, gate, running } = await gated(1, regularGate.promise)
    await bus().publish('orders', [createLowPriorityMessage('late')])
    await waitForCondition(() => running.size === 1, 'the handler for low-priority messages busy')
    const [first, other] = [createMessage('a'), createMessage('b')]
    await bus().publish('orders', [first])
    await bus().publish('orders', [createLowPriorityMessage('a'), other])
    regularGate.resolve()
    await waitForCondition(() => delivered.length === 2, 'both other messages')
    expect(idsOf(delivered).toSorted()).toEqual(idsOf([first, other]).toSorted())
    gate.resolve()
    await waitForCondition(() => delivered.length === 4, 'the low-priority messages')
  })
  it('delivers other keys while a key with a long queue waits', async () => {
    const gate = Promise.withResolvers<void>()
    const { delivered } = await subscribeAndRecord(bus(), async ({ key }) => {
      if (key === 'slow') await gate.promise
      return 'done'
    })
    const slow = createMessages('slow', 300)
    await bus().publish('orders', slow)
    await bus().publish('orders', createMessages('quick', 3))
    await waitForCondition(() => delivered.length === 3, 'the quick key')
    gate.resolve()
    await waitForCondition(() => delivered.length === 303, 'the slow key')
    expect(idsOf(delivered.slice(3))).toEqual(idsOf(slow))
  })
  it('keeps the order of a key in a group with two subscriptions', async () => {
    const order: string[] = []
    const handler = async ({ id }: BusMessage): Promise<HandlerResult> => {
      await new Promise((resolve) => setImmediate(resolve))
      order.push(id)
      return 'done'
    }
    await Promise.all([subscribeAndRecord(bus(), handler), subscribeAndRecord(bus(), handler)])
    const messages = createMessages('a', 60)
    for (let n = 0; n < 60; n += 6) await bus().publish('orders', messages.slice(n, n + 6))
    await waitForCondition(() => order.length === 60, 'all messages')
    expect(order).toEqual(idsOf(messages))
  })
}

function testFailures({ bus }: SuiteContext): void {
  it('retries a failing handler, and keeps the order', async () => {
    let faults = 4
    const { delivered } = await subscribeAndRecord(bus(), async () => {
      if (faults-- > 0) throw new Error('not yet')
      return 'done'
    })
    const messages = createMessages('a', 3)
    await bus().publish('orders', messages)
    await waitForCondition(() => delivered.length === 3, 'all messages')
    expect(idsOf(delivered)).toEqual(idsOf(messages))
  })
  it('continues with other keys while more keys fail than may run at once', async () => {
    let broken = true
    const { delivered } = await subscribeAndRecord(
      bus(),
      async ({ key }) => {
        if (broken && key.startsWith('broken')) throw new Error('the node is away')
        return 'done'
      },
      { concurrency: 2 },
    )
    await bus().publish(
      'orders',
      Array.from({ length: 8 }, (_, n) => createMessage(`broken-${n}`)),
    )
    await bus().publish('orders', createMessages('fine', 20))
    await waitForCondition(() => delivered.length === 20, 'the working key')
    broken = false
    await waitForCondition(() => delivered.length === 28, 'the repaired keys')
  })
}

function testClosing({ bus }: SuiteContext): void {
  it('waits for a running handler, and delivers no further message', async () => {
    const gate = Promise.withResolvers<void>()
    const calls: string[] = []
    const { delivered, running } = await subscribeAndRecord(bus(), async ({ id }) => {
      calls.push(id)
      await gate.promise
      return 'done'
    })
    const messages = createMessages('a', 3)
    await bus().publish('orders', messages)
    await waitForCondition(() => calls.length === 1, 'a call')
    let closed = false
    const closePromise = running.close().then(() => (closed = true))
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(closed).toBe(false)
    gate.resolve()
    await closePromise
    expect(idsOf(delivered)).toEqual([messages[0]?.id])
    const rest = await subscribeAndRecord(bus())
    await waitForCondition(() => rest.delivered.length === 2, 'the remaining messages at the next subscriber')
    expect(idsOf(rest.delivered)).toEqual(idsOf(messages.slice(1)))
  })
  it('delivers to the remaining subscription after one of two subscriptions has closed', async () => {
    const [one, two] = [await subscribeAndRecord(bus()), await subscribeAndRecord(bus())]
    await one.running.close()
    await bus().publish('orders', createMessages('a', 10))
    await waitForCondition(() => two.delivered.length === 10, 'all messages')
  })
  it('does not wait for the end of a back-off', async () => {
    let calls = 0
    const { running } = await subscribeAndRecord(bus(), async () => {
      calls++
      throw new Error('never')
    })
    await bus().publish('orders', createMessages('a', 1))
    await waitForCondition(() => calls > 0, 'a call')
    await running.close()
  })
}

function testCrashes({ fixture, bus }: SuiteContext): void {
  for (const moment of ['published', 'in-handler', 'handled', 'parked'] as const)
    it(`loses no message and keeps the order: ${moment}`, async () => {
      const messages = createMessages('a', 5)
      const handled = await fixture().crash?.(moment, 'orders', messages)
      const { delivered } = await subscribeAndRecord(bus())
      if (moment === 'parked') {
        await waitForCondition(async () => (await bus().parked())[0]?.messages === 3, 'the third and later messages set aside')
        await bus().replay({ group: 'readers', topic: 'orders', key: 'a' })
      }
      await waitForCondition(() => delivered.at(-1)?.id === messages.at(-1)?.id, 'the last message')
      const redelivered = idsOf(delivered)
      // Handled messages may be delivered again. All other messages must be delivered, in order.
      expect(redelivered).toEqual(idsOf(messages).slice(messages.length - redelivered.length))
      expect([...new Set([...(handled ?? []), ...redelivered])].sort()).toEqual(idsOf(messages).sort())
    })
}
