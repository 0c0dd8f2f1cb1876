import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runCli } from '../run-cli.ts'

test('the help of seller names the risk, and the section of the guide that describes it', async () => {
  let printed = ''
  const env = { PENSTOCK_URL: 'http://127.0.0.1:1', PENSTOCK_DATA_DIR: '/nowhere' }
  const code = await runCli(['seller', '--help'], { env, out: (text) => void (printed += text), err: () => undefined })
  expect(code).toBe(0)
  expect(printed).toContain('A seller funds a channel before it is paid.')
  expect(printed).toContain('docs/guides/mainnet.md')
  const guide = readFileSync(new URL('../../../../docs/guides/mainnet.md', import.meta.url), 'utf8')
  expect(guide).toContain("### The seller's risk")
})
