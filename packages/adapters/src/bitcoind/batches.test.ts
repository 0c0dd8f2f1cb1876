import { Fault } from '@penstock/kernel/result.ts'
import { expect, test } from 'vitest'
import { batches } from './batches.ts'

type Sent = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }
const answerTo = ({ id, method }: Sent) => ({ id, result: method, error: null })
/** All that is asked in one turn of the loop goes together. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('what comes while enough is under way goes together, and everybody has his own answer', async () => {
  const sent: (Sent | readonly Sent[])[] = []
  const waiting: (() => void)[] = []
  const call = batches(async (body) => {
    const wanted = JSON.parse(body) as Sent | Sent[]
    sent.push(wanted)
    await new Promise<void>((resolve) => waiting.push(resolve))
    return Array.isArray(wanted) ? wanted.map(answerTo).toReversed() : answerTo(wanted)
  })
  const names = Array.from({ length: 20 }, (_, index) => `call${index}`)
  const asked: Promise<{ readonly result: unknown }>[] = []
  for (const [index, method] of names.entries()) {
    asked.push(call({ method, params: [] }))
    // Three that are asked in one turn, then some of which each has a turn of its own.
    if (index >= 2) await turn()
  }
  for (let left = 0; left < 5; left++) {
    for (const go of waiting.splice(0)) go()
    await turn()
  }
  expect((await Promise.all(asked)).map(({ result }) => result)).toEqual(names)
  expect(sent.map((one) => (Array.isArray(one) ? one.length : 1))).toEqual([3, 1, 16])
})

test('a request that fails, fails for its calls alone; so does an answer that is missing', async () => {
  let requests = 0
  const call = batches((body) => {
    requests += 1
    if (requests === 1) return Promise.reject(new Error('away'))
    return Promise.resolve(requests === 2 ? [] : answerTo(JSON.parse(body) as Sent))
  })
  const asked: Promise<string>[] = []
  for (const method of ['a', 'b', 'c']) {
    const answered = call({ method, params: [] })
    asked.push(
      answered.then(
        () => 'answered',
        () => 'failed',
      ),
    )
    await turn()
  }
  expect(await Promise.all(asked)).toEqual(['failed', 'failed', 'answered'])
})

test('who has waited in line for longer than anybody waits is dropped, and costs the node nothing', async () => {
  const sent: string[] = []
  const waiting: (() => void)[] = []
  let now = 0
  const call = batches(
    async (body) => {
      const wanted = JSON.parse(body) as Sent | Sent[]
      sent.push(...[wanted].flat().map(({ method }) => method))
      await new Promise<void>((resolve) => waiting.push(resolve))
      return Array.isArray(wanted) ? wanted.map(answerTo) : answerTo(wanted)
    },
    () => now,
  )
  const ask = (method: string) => call({ method, params: [] })
  const first = ask('a')
  await turn()
  const underWay = [first, ask('b')]
  await turn()
  const old = ask('old').catch((error: unknown) => error)
  now = 5000
  const young = ask('young')
  now = 20_000
  for (const go of waiting.splice(0)) go()
  await Promise.all(underWay)
  expect(await old).toBeInstanceOf(Fault)
  await turn()
  for (const go of waiting.splice(0)) go()
  expect((await young).result).toBe('young')
  expect(sent).toEqual(['a', 'b', 'young'])
})
