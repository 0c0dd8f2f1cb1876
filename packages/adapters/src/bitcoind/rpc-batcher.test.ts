import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { createRpcBatcher } from './rpc-batcher.ts'

type Sent = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }
const answerTo = ({ id, method }: Sent) => ({ id, result: method, error: null })
/** Waits for the next event-loop turn, because the calls of one turn share a batch. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('calls beyond the request limit share one batch, and each call gets its own answer', async () => {
  const sent: (Sent | readonly Sent[])[] = []
  const releases: (() => void)[] = []
  const call = createRpcBatcher(async (body) => {
    const request = JSON.parse(body) as Sent | Sent[]
    sent.push(request)
    await new Promise<void>((resolve) => releases.push(resolve))
    return Array.isArray(request) ? request.map(answerTo).toReversed() : answerTo(request)
  })
  const names = Array.from({ length: 20 }, (_, index) => `call${index}`)
  const results: Promise<{ readonly result: unknown }>[] = []
  for (const [index, method] of names.entries()) {
    results.push(call({ method, params: [] }))
    // Three calls share one turn. Each later call has a turn of its own.
    if (index >= 2) await nextTurn()
  }
  for (let round = 0; round < 5; round++) {
    for (const release of releases.splice(0)) release()
    await nextTurn()
  }
  expect((await Promise.all(results)).map(({ result }) => result)).toEqual(names)
  expect(sent.map((request) => (Array.isArray(request) ? request.length : 1))).toEqual([3, 1, 16])
})

test('a failed request or a missing answer fails only the calls of that request', async () => {
  let requests = 0
  const call = createRpcBatcher((body) => {
    requests += 1
    if (requests === 1) return Promise.reject(new Error('away'))
    return Promise.resolve(requests === 2 ? [] : answerTo(JSON.parse(body) as Sent))
  })
  const results: Promise<string>[] = []
  for (const method of ['a', 'b', 'c']) {
    const answered = call({ method, params: [] })
    results.push(
      answered.then(
        () => 'answered',
        () => 'failed',
      ),
    )
    await nextTurn()
  }
  expect(await Promise.all(results)).toEqual(['failed', 'failed', 'answered'])
})

test('a call that is queued past the timeout is rejected with a Fault and never sent', async () => {
  const sent: string[] = []
  const releases: (() => void)[] = []
  let now = 0
  const call = createRpcBatcher(
    async (body) => {
      const request = JSON.parse(body) as Sent | Sent[]
      sent.push(...[request].flat().map(({ method }) => method))
      await new Promise<void>((resolve) => releases.push(resolve))
      return Array.isArray(request) ? request.map(answerTo) : answerTo(request)
    },
    () => now,
  )
  const ask = (method: string) => call({ method, params: [] })
  const first = ask('a')
  await nextTurn()
  const inFlight = [first, ask('b')]
  await nextTurn()
  const old = ask('old').catch((error: unknown) => error)
  now = 5000
  const young = ask('young')
  now = 20_000
  for (const release of releases.splice(0)) release()
  await Promise.all(inFlight)
  expect(await old).toBeInstanceOf(Fault)
  await nextTurn()
  for (const release of releases.splice(0)) release()
  expect((await young).result).toBe('young')
  expect(sent).toEqual(['a', 'b', 'young'])
})
