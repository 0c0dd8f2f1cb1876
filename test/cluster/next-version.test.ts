import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createNextVersion } from './next-version.ts'

// The tests of a rollout take minutes. This test finds at once that a change of the code needs a change of the next version.
test("the next release of the rollout tests can be made of today's code", () => {
  const copy = createNextVersion()
  onTestFinished(() => copy.remove())
  const samples = readFileSync(join(copy.folder, 'packages/contracts/golden/order.jsonl'), 'utf8')
  expect(samples).toContain('{"type":"OrderPlaced","v":3,')
})
