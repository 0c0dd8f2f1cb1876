import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { compareStates, STATES_FORMAT } from './audit-states.ts'

const line = (position: number, stream: string, revision: number, ...rest: readonly string[]): string =>
  [position, stream, revision, ...rest].join('\t')

async function* printed(...lines: readonly string[]): AsyncGenerator<string> {
  yield STATES_FORMAT
  yield* lines
}

const made = line(1, 'order-a', 0, 'OrderPlaced v1', 'f1', '1:s1')
const paid = line(2, 'order-a', 1, 'PaymentHeld v1', 'f2', '1:s2')

test('versions that make the same of a store do not differ, and what one of them has not read is left out', async () => {
  assert.deepEqual(await compareStates(printed(made, paid), printed(made, paid)), {
    events: 2,
    streams: 1,
    differences: [],
    failing: [],
  })
  assert.deepEqual(await compareStates(printed(made, paid), printed(made)), {
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
])('%s is a difference, the first of its stream only', async (_, other, what) => {
  const { differences } = await compareStates(
    printed(made, paid),
    printed(other, line(2, 'order-a', 1, 'PaymentHeld v1', 'f2', '1:x')),
  )
  assert.deepEqual(differences, [{ stream: 'order-a', revision: 0, fact: 'OrderPlaced v1', what }])
})

test('a newer shape of a fact or one projection more is no difference by itself', async () => {
  const newer = line(1, 'order-a', 0, 'OrderPlaced v2', 'f9', '1:s1', '2:s9')
  assert.deepEqual((await compareStates(printed(made), printed(newer))).differences, [])
})

test('a stream that neither version can fold is no agreement, whatever each says of it', async () => {
  for (const reason of ['no edge', 'another reason']) {
    const [mine, theirs] = [line(1, 'order-a', 0, '!', 'no edge'), line(1, 'order-a', 0, '!', reason)]
    const { differences, failing } = await compareStates(printed(mine, paid), printed(theirs, paid))
    assert.deepEqual(
      { differences, failing },
      { differences: [], failing: [{ stream: 'order-a', revision: 0, what: 'no edge' }] },
    )
  }
})

test('another format or another log is refused', async () => {
  async function* foreign(): AsyncGenerator<string> {
    yield 'usage: something else'
  }
  await expect(compareStates(printed(made), foreign())).rejects.toThrow('prints "usage: something else"')
  await expect(compareStates(printed(made), printed(line(1, 'order-b', 0, 'OrderPlaced v1', 'f1', '1:s1')))).rejects.toThrow(
    'reads another log',
  )
})
