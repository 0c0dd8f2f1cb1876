import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deriveDecisionKey } from '@penstock/config/decision-proof.ts'
import { afterAll, expect, test } from 'vitest'
import { readDecisionKey } from './decision-key.ts'
import { runCli } from './run-cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-decision-'))
const key = 'ab'.repeat(32)
writeFileSync(join(folder, 'keyring.json'), JSON.stringify({ current: 'a', keys: { a: key, b: '01'.repeat(32) } }))
afterAll(() => rmSync(folder, { recursive: true }))

test('the decision key derives from the current key of the keyring, and the environment replaces it', () => {
  expect(readDecisionKey({ PENSTOCK_DATA_DIR: folder })).toBe(deriveDecisionKey(key))
  expect(readDecisionKey({ PENSTOCK_DATA_DIR: '/nowhere', PENSTOCK_KEYRING_DIR: folder })).toBe(deriveDecisionKey(key))
  const given = 'cd'.repeat(32)
  expect(readDecisionKey({ PENSTOCK_DATA_DIR: folder, PENSTOCK_DECISION_KEY: `${given}\n` })).toBe(given)
})

test('payout key prints the key, and a decision without a key says how to get one', async () => {
  const run = async (args: readonly string[], dataDir: string) => {
    const printed = { out: '', err: '' }
    const env = { PENSTOCK_URL: 'http://127.0.0.1:1', PENSTOCK_DATA_DIR: dataDir }
    const code = await runCli(args, {
      env,
      out: (text) => void (printed.out += text),
      err: (text) => void (printed.err += text),
    })
    return { code, ...printed }
  }
  expect(await run(['payout', 'key'], folder)).toEqual({ code: 0, out: `${deriveDecisionKey(key)}\n`, err: '' })
  const { code, err } = await run(['payout', 'decide', 'o', '--to', 'seller', '--reason', 'x'], '/nowhere')
  expect([code, err]).toEqual([1, expect.stringContaining('run "penstock payout key" beside the keyring')])
})
