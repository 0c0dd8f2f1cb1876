import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { compareStates, STATES_FORMAT } from './diff.ts'

const line = (position: number, stream: string, revision: number, ...rest: readonly string[]): string =>
  [position, stream, revision, ...rest].join('\t')

async function* print(...lines: readonly string[]): AsyncGenerator<string> {
  yield STATES_FORMAT
  yield* lines
}

const placed = line(1, 'order-a', 0, 'OrderPlaced v1', 'f1', '1:s1')
const paid = line(2, 'order-a', 1, 'PaymentHeld v1', 'f2', '1:s2')

test('two versions that derive the same states do not differ, and events that only one version read are ignored', async () => {
  assert.deepEqual(await compareStates(print(placed, paid), print(placed, paid)), {
    events: 2,
    streams: 1,
    differences: [],
    failing: [],
  })
  assert.deepEqual(await compareStates(print(placed, paid), print(placed)), {
    events: 1,
    streams: 1,
    differences: [],
    failing: [],
  })
})

test.each([
  ['another state', line(1, 'order-a', 0, 'OrderPlaced v1', 'f1', '1:other'), 'another state follows, by projection 1'],
  ['another fact', line(1, 'order-a', 0, 'OrderPlaced v1', 'other', '1:s1'), 'the fact is upcast to another shape'],
  ['a failure', line(1, 'order-a', 0, '!', 'no edge'), 'this version folds it, the other fails ("no edge")'],
  [
    'other projections',
    line(1, 'order-a', 0, 'OrderPlaced v1', 'f1', '2:s1'),
    'no projection of the state is known to both: 1 here, 2 there',
  ],
])('%s is reported as the only difference of its stream', async (_, other, what) => {
  const { differences } = await compareStates(
    print(placed, paid),
    print(other, line(2, 'order-a', 1, 'PaymentHeld v1', 'f2', '1:x')),
  )
  assert.deepEqual(differences, [{ stream: 'order-a', revision: 0, fact: 'OrderPlaced v1', what }])
})

test('a newer version of a fact or an additional projection is not a difference', async () => {
  const newer = line(1, 'order-a', 0, 'OrderPlaced v2', 'f9', '1:s1', '2:s9')
  assert.deepEqual((await compareStates(print(placed), print(newer))).differences, [])
})

test('a stream that neither version can fold is reported as failing, even if the reasons differ', async () => {
  for (const reason of ['no edge', 'another reason']) {
    const [mine, theirs] = [line(1, 'order-a', 0, '!', 'no edge'), line(1, 'order-a', 0, '!', reason)]
    const { differences, failing } = await compareStates(print(mine, paid), print(theirs, paid))
    assert.deepEqual(
      { differences, failing },
      { differences: [], failing: [{ stream: 'order-a', revision: 0, what: 'no edge' }] },
    )
  }
})

test('output in another format or of another log is refused', async () => {
  async function* foreign(): AsyncGenerator<string> {
    yield 'usage: something else'
  }
  await expect(compareStates(print(placed), foreign())).rejects.toThrow('prints "usage: something else"')
  await expect(compareStates(print(placed), print(line(1, 'order-b', 0, 'OrderPlaced v1', 'f1', '1:s1')))).rejects.toThrow(
    'reads another log',
  )
})
