import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createVaultOpeners } from '@penstock/platforms/vault.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli } from '../run-cli.ts'

type KeyFile = { readonly current: string; readonly keys: Record<string, string> }

let folder = ''
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'penstock-vault-'))))
afterEach(() => rmSync(folder, { recursive: true }))

async function runVault(...args: readonly string[]) {
  const printed = { out: '', err: '' }
  const code = await runCli(['vault', ...args], {
    env: { PENSTOCK_DATA_DIR: folder },
    out: (text) => void (printed.out += text),
    err: (text) => void (printed.err += text),
  })
  return { code, ...printed }
}

const read = (name: string): KeyFile => JSON.parse(readFileSync(join(folder, name), 'utf8')) as KeyFile // a file of this test
const openers = () => createVaultOpeners({ path: folder }, { vaultFile: '', vaultPublicFile: '' })

test('keygen makes a vault in the data folder, and refuses a second one', async () => {
  const made = await runVault('keygen')
  expect(made).toMatchObject({ code: 0, err: '' })
  expect(made.out).toContain(`private keys: ${join(folder, 'vault.json')}\n`)
  expect(statSync(join(folder, 'vault.json')).mode & 0o777).toBe(0o600)
  const again = await runVault('keygen')
  expect(again).toMatchObject({ code: 1, out: '' })
  expect(again.err).toMatch(/exists already; add a key with "penstock vault rotate"\.\n$/)
})

test('rotate adds a current key, and publish writes its public keys again', async () => {
  await runVault('keygen', '--dir', folder)
  const sealed = await openers().sealer().seal('record', 'macaroon', 'secret')
  const { out } = await runVault('rotate', '--dir', folder, '--json')
  const { current, keys } = read('vault.json')
  expect(JSON.parse(out)).toEqual({
    done: `The key "${current}" is current now.`,
    private_file: join(folder, 'vault.json'),
    public_file: join(folder, 'vault.pub.json'),
  })
  expect(Object.keys(read('vault.pub.json').keys)).toEqual(Object.keys(keys))
  expect(await openers().opener().open('record', 'macaroon', sealed)).toBe('secret')
  // An operator removes the old key by hand.
  const published = read('vault.pub.json')
  const remaining = JSON.stringify({ current, keys: { [current]: keys[current] } })
  writeFileSync(join(folder, 'vault.json'), remaining)
  expect(await runVault('publish')).toMatchObject({ code: 0 })
  expect(read('vault.pub.json')).toEqual({ current, keys: { [current]: published.keys[current] } })
})

test.each(['rotate', 'publish'])('%s fails with the remedy if the folder has no vault, and leaves it empty', async (name) => {
  const { code, err } = await runVault(name)
  expect(code).toBe(1)
  expect(err).toMatch(/^Nothing was changed: .*vault\.json does not exist; .*"penstock vault keygen"\.\n$/)
  expect(readdirSync(folder)).toEqual([])
})
