import { expect, it } from 'vitest'
import { idsOf, listen, message, several, until } from './bus-listen.contract.ts'
import type { Bus, BusMessage, Handled } from './bus.ts'

type Here = { readonly bus: () => Bus; readonly world: () => { reopen(): Promise<Bus> } }

/** A handler that parks messages of the keys in the set. */
const parkingHandler =
  (poisoned: ReadonlySet<string>) =>
  async ({ key }: BusMessage): Promise<Handled> =>
    poisoned.has(key) ? { park: `cannot read ${key}` } : 'done'

export function parking({ bus, world }: Here): void {
  it('sets a key aside with its later messages, and nobody else', async () => {
    const poisoned = new Set(['bad'])
    const calls: string[] = []
    const handler = parkingHandler(poisoned)
    await listen(bus(), async (received) => {
      calls.push(received.key)
      return handler(received)
    })
    const bad = several('bad', 3)
    const started = Date.now()
    await bus().publish('orders', [...bad, ...several('good', 3)])
    await until(async () => (await bus().parked())[0]?.messages === 3 && calls.length === 4, 'three messages set aside')
    expect(calls.sort()).toEqual(['bad', 'good', 'good', 'good'])
    const [parked] = await bus().parked()
    expect(parked).toMatchObject({ group: 'readers', topic: 'orders', key: 'bad', reason: 'cannot read bad' })
    expect(parked?.since).toBeGreaterThanOrEqual(started)
  })
  it('parks for one group alone', async () => {
    await listen(bus(), parkingHandler(new Set(['bad'])))
    const other = await listen(bus(), undefined, { group: 'others' })
    await bus().publish('orders', several('bad', 2))
    await until(async () => (await bus().parked())[0]?.messages === 2 && other.seen.length === 2, 'both groups')
    expect(await bus().parked()).toHaveLength(1)
  })
  it('keeps them parked over a restart, and adds what comes', async () => {
    await listen(bus(), parkingHandler(new Set(['bad'])))
    await bus().publish('orders', several('bad', 2))
    await until(async () => (await bus().parked())[0]?.messages === 2, 'two messages set aside')
    const again = await world().reopen()
    const { seen } = await listen(again)
    await again.publish('orders', [message('bad'), message('good')])
    await until(async () => (await again.parked())[0]?.messages === 3 && seen.length === 1, 'a third message set aside')
    expect(seen.map(({ key }) => key)).toEqual(['good'])
  })
  it('tells of those that it set aside behind a parked one, which nobody is called with, also after a restart', async () => {
    const [bad, later] = [several('bad', 3), message('bad')]
    const { seen, aside } = await listen(bus(), parkingHandler(new Set(['bad'])))
    await bus().publish('orders', [...bad, message('good')])
    await until(() => aside.length >= 2 && seen.length === 2, 'two messages told, and two handed over')
    // What was told may be told again.
    expect(unique(aside)).toEqual(bad.slice(1))
    const again = await world().reopen()
    const second = await listen(again)
    await again.publish('orders', [later])
    await until(() => second.aside.some(({ id }) => id === later.id), 'the later one told')
    expect(second.seen).toEqual([])
    expect((await again.parked())[0]).toMatchObject({ key: 'bad', messages: 4 })
  })
  it('tells the handler once its message is kept, not before, also when a replay parks it again', async () => {
    const told: string[] = []
    let reason = 'bad'
    await listen(bus(), async ({ key }): Promise<Handled> => {
      if (key !== 'bad') return 'done'
      const park = reason
      return {
        park,
        kept: () =>
          void bus()
            .parked()
            .then(([parked]) => told.push(`${park}: ${parked?.reason}`)),
      }
    })
    await bus().publish('orders', [message('bad'), message('good')])
    await until(() => told.length > 0, 'told')
    reason = 'still bad'
    await bus().replay({ group: 'readers', topic: 'orders', key: 'bad' })
    await until(() => told.length > 1, 'told again')
    expect([...new Set(told)]).toEqual(['bad: bad', 'still bad: still bad'])
  })
  it('tells nothing of what it hands over in a replay', async () => {
    const poisoned = new Set(['bad'])
    const { seen, aside } = await listen(bus(), parkingHandler(poisoned))
    await bus().publish('orders', several('bad', 2))
    await until(() => aside.length > 0, 'the second told')
    const told = aside.length
    poisoned.clear()
    await bus().replay({ group: 'readers', topic: 'orders', key: 'bad' })
    await until(async () => (await bus().parked()).length === 0, 'the key is free')
    await bus().publish('orders', [message('bad')])
    await until(() => seen.length >= 4, 'the parked one twice, and two more')
    expect(aside).toHaveLength(told)
  })
}

const unique = (messages: readonly BusMessage[]): BusMessage[] => [...new Map(messages.map((one) => [one.id, one])).values()]

export function replaying({ bus, world }: Here): void {
  const parkedKey = { group: 'readers', topic: 'orders', key: 'bad' }

  it('hands them over in order, with what came meanwhile, and frees the key', async () => {
    const poisoned = new Set(['bad'])
    const handler = parkingHandler(poisoned)
    const { seen } = await listen(bus(), handler)
    const messages = several('bad', 40)
    await bus().publish('orders', messages.slice(0, 20))
    await until(async () => (await bus().parked())[0]?.messages === 20, 'twenty messages set aside')
    poisoned.clear()
    seen.length = 0
    expect(await bus().replay(parkedKey)).toBe(20)
    for (const late of messages.slice(20)) await bus().publish('orders', [late])
    await until(() => seen.length >= 40, 'all forty')
    expect(idsOf(seen)).toEqual(idsOf(messages))
    await until(async () => (await bus().parked()).length === 0, 'the key is free')
  })
  it('parks again where the fix was none', async () => {
    const messages = several('bad', 2)
    let mended = false
    await listen(bus(), async ({ id }) => (!mended ? { park: 'bad' } : id === messages[1]?.id ? { park: 'still bad' } : 'done'))
    await bus().publish('orders', messages)
    await until(async () => (await bus().parked())[0]?.messages === 2, 'both set aside')
    mended = true
    await bus().replay(parkedKey)
    await until(async () => (await bus().parked())[0]?.reason === 'still bad', 'parked again')
    expect((await bus().parked())[0]).toMatchObject({ messages: 1 })
  })
  it('goes on after a restart, and answers 0 where nothing is parked', async () => {
    await listen(bus(), parkingHandler(new Set(['bad'])))
    const messages = several('bad', 3)
    await bus().publish('orders', messages)
    await until(async () => (await bus().parked())[0]?.messages === 3, 'three messages set aside')
    const idle = await world().reopen()
    expect(await idle.replay(parkedKey)).toBe(3)
    expect(await idle.replay({ ...parkedKey, key: 'ghost' })).toBe(0)
    const { seen } = await listen(await world().reopen())
    await until(() => seen.length === 3, 'all three')
    expect(idsOf(seen)).toEqual(idsOf(messages))
  })
}
