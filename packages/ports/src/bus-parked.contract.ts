import { expect, it } from 'vitest'
import { idsOf, subscribeAndRecord, createMessage, createMessages, waitForCondition } from './bus-recorder.fixture.ts'
import type { Bus, BusMessage, HandlerResult } from './bus.ts'

type SuiteContext = { readonly bus: () => Bus; readonly fixture: () => { reopen(): Promise<Bus>; readonly now?: () => number } }

/** A handler that parks messages of the keys in the set. */
const createParkingHandler =
  (badKeys: ReadonlySet<string>) =>
  async ({ key }: BusMessage): Promise<HandlerResult> =>
    badKeys.has(key) ? { park: `cannot read ${key}` } : 'done'

export function testParking({ bus, fixture }: SuiteContext): void {
  it('parks a key with its later messages, and no other key', async () => {
    const badKeys = new Set(['bad'])
    const calls: string[] = []
    const handler = createParkingHandler(badKeys)
    await subscribeAndRecord(bus(), async (received) => {
      calls.push(received.key)
      return handler(received)
    })
    const bad = createMessages('bad', 3)
    const { now = Date.now } = fixture()
    const started = now()
    await bus().publish('orders', [...bad, ...createMessages('good', 3)])
    await waitForCondition(
      async () => (await bus().parked())[0]?.messages === 3 && calls.length === 4,
      'three messages set aside',
    )
    expect(calls.sort()).toEqual(['bad', 'good', 'good', 'good'])
    const [parked] = await bus().parked()
    expect(parked).toMatchObject({ group: 'readers', topic: 'orders', key: 'bad', reason: 'cannot read bad' })
    expect(parked?.since).toBeGreaterThanOrEqual(started)
  })
  it('parks a key for one group only', async () => {
    await subscribeAndRecord(bus(), createParkingHandler(new Set(['bad'])))
    const other = await subscribeAndRecord(bus(), undefined, { group: 'others' })
    await bus().publish('orders', createMessages('bad', 2))
    await waitForCondition(async () => (await bus().parked())[0]?.messages === 2 && other.delivered.length === 2, 'both groups')
    expect(await bus().parked()).toHaveLength(1)
  })
  it('keeps a key parked across a restart, and adds new messages to it', async () => {
    await subscribeAndRecord(bus(), createParkingHandler(new Set(['bad'])))
    await bus().publish('orders', createMessages('bad', 2))
    await waitForCondition(async () => (await bus().parked())[0]?.messages === 2, 'two messages set aside')
    const reopened = await fixture().reopen()
    const { delivered } = await subscribeAndRecord(reopened)
    await reopened.publish('orders', [createMessage('bad'), createMessage('good')])
    await waitForCondition(
      async () => (await reopened.parked())[0]?.messages === 3 && delivered.length === 1,
      'a third message set aside',
    )
    expect(delivered.map(({ key }) => key)).toEqual(['good'])
  })
  it('reports messages that it sets aside behind a parked message without a handler call, also after a restart', async () => {
    const [bad, later] = [createMessages('bad', 3), createMessage('bad')]
    const { delivered, aside } = await subscribeAndRecord(bus(), createParkingHandler(new Set(['bad'])))
    await bus().publish('orders', [...bad, createMessage('good')])
    await waitForCondition(() => aside.length >= 2 && delivered.length === 2, 'two messages reported, and two handled')
    // A set-aside message may be reported more than once.
    expect(unique(aside)).toEqual(bad.slice(1))
    const reopened = await fixture().reopen()
    const second = await subscribeAndRecord(reopened)
    await reopened.publish('orders', [later])
    await waitForCondition(() => second.aside.some(({ id }) => id === later.id), 'the later message reported')
    expect(second.delivered).toEqual([])
    expect((await reopened.parked())[0]).toMatchObject({ key: 'bad', messages: 4 })
  })
  it('notifies a handler once its parked message is stored, also when a replay parks the message again', async () => {
    const notified: string[] = []
    let reason = 'bad'
    await subscribeAndRecord(bus(), async ({ key }): Promise<HandlerResult> => {
      if (key !== 'bad') return 'done'
      const park = reason
      return {
        park,
        onStored: () =>
          void bus()
            .parked()
            .then(([parked]) => notified.push(`${park}: ${parked?.reason}`)),
      }
    })
    await bus().publish('orders', [createMessage('bad'), createMessage('good')])
    await waitForCondition(() => notified.length > 0, 'the first notification')
    reason = 'still bad'
    await bus().replay({ group: 'readers', topic: 'orders', key: 'bad' })
    await waitForCondition(() => notified.length > 1, 'the second notification')
    expect([...new Set(notified)]).toEqual(['bad: bad', 'still bad: still bad'])
  })
  it('does not report the messages of a replay as set aside', async () => {
    const badKeys = new Set(['bad'])
    const { delivered, aside } = await subscribeAndRecord(bus(), createParkingHandler(badKeys))
    await bus().publish('orders', createMessages('bad', 2))
    await waitForCondition(() => aside.length > 0, 'the second message reported')
    const reported = aside.length
    badKeys.clear()
    await bus().replay({ group: 'readers', topic: 'orders', key: 'bad' })
    await waitForCondition(async () => (await bus().parked()).length === 0, 'the key is free')
    await bus().publish('orders', [createMessage('bad')])
    await waitForCondition(() => delivered.length >= 4, 'the parked message twice, and two more')
    expect(aside).toHaveLength(reported)
  })
}

const unique = (messages: readonly BusMessage[]): BusMessage[] => [...new Map(messages.map((one) => [one.id, one])).values()]

export function testReplay({ bus, fixture }: SuiteContext): void {
  const parkedKey = { group: 'readers', topic: 'orders', key: 'bad' }

  it('hands over parked and new messages in order, and frees the key', async () => {
    const badKeys = new Set(['bad'])
    const handler = createParkingHandler(badKeys)
    const { delivered } = await subscribeAndRecord(bus(), handler)
    const messages = createMessages('bad', 40)
    await bus().publish('orders', messages.slice(0, 20))
    await waitForCondition(async () => (await bus().parked())[0]?.messages === 20, 'twenty messages set aside')
    badKeys.clear()
    delivered.length = 0
    expect(await bus().replay(parkedKey)).toBe(20)
    for (const message of messages.slice(20)) await bus().publish('orders', [message])
    await waitForCondition(() => delivered.length >= 40, 'all forty')
    expect(idsOf(delivered)).toEqual(idsOf(messages))
    await waitForCondition(async () => (await bus().parked()).length === 0, 'the key is free')
  })
  it('parks the key again if a message still cannot be handled', async () => {
    const messages = createMessages('bad', 2)
    let isFixed = false
    await subscribeAndRecord(bus(), async ({ id }) =>
      !isFixed ? { park: 'bad' } : id === messages[1]?.id ? { park: 'still bad' } : 'done',
    )
    await bus().publish('orders', messages)
    await waitForCondition(async () => (await bus().parked())[0]?.messages === 2, 'both set aside')
    isFixed = true
    await bus().replay(parkedKey)
    await waitForCondition(async () => (await bus().parked())[0]?.reason === 'still bad', 'parked again')
    expect((await bus().parked())[0]).toMatchObject({ messages: 1 })
  })
  it('continues after a restart, and returns 0 for a key that is not parked', async () => {
    await subscribeAndRecord(bus(), createParkingHandler(new Set(['bad'])))
    const messages = createMessages('bad', 3)
    await bus().publish('orders', messages)
    await waitForCondition(async () => (await bus().parked())[0]?.messages === 3, 'three messages set aside')
    const idle = await fixture().reopen()
    expect(await idle.replay(parkedKey)).toBe(3)
    expect(await idle.replay({ ...parkedKey, key: 'ghost' })).toBe(0)
    const { delivered } = await subscribeAndRecord(await fixture().reopen())
    await waitForCondition(() => delivered.length === 3, 'all three')
    expect(idsOf(delivered)).toEqual(idsOf(messages))
  })
}
