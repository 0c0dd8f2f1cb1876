import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Fault } from '@penstock/kernel/result.ts'
import { vaultContract } from '@penstock/ports/vault.contract.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createVaultFiles, publishVaultFile, rotateVaultFiles, type VaultFiles } from './vault-files.ts'
import { fileOpener, fileSealer } from './vault.ts'

type KeyFile = { readonly current: string; readonly keys: Record<string, string> }

let folder = ''
let files: VaultFiles
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'vault-'))
  files = { privateFile: join(folder, 'vault.json'), publicFile: join(folder, 'vault.pub.json') }
})
afterEach(() => rmSync(folder, { recursive: true }))

const read = (path: string): KeyFile => JSON.parse(readFileSync(path, 'utf8')) as KeyFile // a file of this test
const keyIdOf = (sealed: string): string => (JSON.parse(sealed) as { keyId: string }).keyId // a text of this vault

vaultContract('HPKE with key files', () => {
  createVaultFiles(files)
  return { sealer: fileSealer(files.publicFile), opener: fileOpener(files.privateFile) }
})

describe('key files', () => {
  test('the first start creates both, and later starts keep them', () => {
    createVaultFiles(files)
    const before = [read(files.privateFile), read(files.publicFile)]
    expect(statSync(files.privateFile).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder).toSorted()).toEqual(['vault.json', 'vault.pub.json'])
    createVaultFiles(files)
    expect([read(files.privateFile), read(files.publicFile)]).toEqual(before)
  })

  test('a public key is the Ed25519 key of its private key', () => {
    // RFC 8032, section 7.1, test 1.
    const secret = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
    writeFileSync(files.privateFile, JSON.stringify({ current: 'a', keys: { a: secret } }), { mode: 0o600 })
    createVaultFiles(files)
    expect(read(files.publicFile)).toEqual({
      current: 'a',
      keys: { a: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a' },
    })
  })

  test('a rotation adds a current key to both files, and old secrets stay readable', async () => {
    createVaultFiles(files)
    const old = await fileSealer(files.publicFile).seal('r', 'macaroon', 'old')
    const running = fileOpener(files.privateFile)
    const id = rotateVaultFiles(files)
    expect([read(files.privateFile).current, read(files.publicFile).current]).toEqual([id, id])
    // An id of digits alone stands before all others.
    expect(Object.keys(read(files.publicFile).keys).toSorted()).toEqual([keyIdOf(old), id].toSorted())
    expect(statSync(files.privateFile).mode & 0o777).toBe(0o600)
    const sealed = await fileSealer(files.publicFile).seal('r', 'macaroon', 'new')
    expect(keyIdOf(sealed)).toBe(id)
    // The running process has not read the new key yet.
    for (const opener of [running, fileOpener(files.privateFile)])
      expect([await opener.open('r', 'macaroon', old), await opener.open('r', 'macaroon', sealed)]).toEqual(['old', 'new'])
  })

  test('a secret whose key was removed waits until the key is put back', async () => {
    createVaultFiles(files)
    const sealed = await fileSealer(files.publicFile).seal('r', 'macaroon', 'secret')
    const kept = readFileSync(files.privateFile)
    rotateVaultFiles(files)
    const { current, keys } = read(files.privateFile)
    writeFileSync(files.privateFile, JSON.stringify({ current, keys: { [current]: keys[current] } }))
    const opener = fileOpener(files.privateFile)
    await expect(opener.open('r', 'macaroon', sealed)).rejects.toThrow(`the vault has no key "${keyIdOf(sealed)}"; put it back`)
    await expect(opener.open('r', 'macaroon', sealed)).rejects.toThrow(Fault)
    writeFileSync(files.privateFile, '{"current":"b","ke')
    await expect(opener.open('r', 'macaroon', sealed)).rejects.toThrow(Fault)
    writeFileSync(files.privateFile, kept)
    expect(await opener.open('r', 'macaroon', sealed)).toBe('secret')
  })

  test('a public file that was lost is made again', () => {
    createVaultFiles(files)
    const before = read(files.publicFile)
    rmSync(files.publicFile)
    createVaultFiles(files)
    expect(read(files.publicFile)).toEqual(before)
    rmSync(files.publicFile)
    publishVaultFile(files)
    expect(read(files.publicFile)).toEqual(before)
  })

  test.each(['', '{}', '{"current":"a","keys":{}}', '{"current":"a","keys":{"a":"abc"}}', 'null'])(
    'an invalid file stops the start and is not replaced: %s',
    (text) => {
      writeFileSync(files.privateFile, text, { mode: 0o600 })
      expect(() => createVaultFiles(files)).toThrow('is not a file of vault keys')
      expect(() => rotateVaultFiles(files)).toThrow('is not a file of vault keys')
      expect(() => fileSealer(files.privateFile)).toThrow('is not a file of vault keys')
      expect(readFileSync(files.privateFile, 'utf8')).toBe(text)
    },
  )

  test('a missing file, and private keys that others can read, stop the start with the remedy', () => {
    expect(() => fileOpener(files.privateFile)).toThrow('penstock vault keygen')
    expect(() => fileSealer(files.publicFile)).toThrow('penstock vault publish')
    createVaultFiles(files)
    chmodSync(files.privateFile, 0o640)
    expect(() => fileOpener(files.privateFile)).toThrow(`chmod 600 ${files.privateFile}`)
  })
})

test('a text that another implementation sealed is opened', async () => {
  // Sealed with pyhpke 0.6.5, for a public key that libsodium converted from Ed25519.
  const sealed =
    '{"keyId":"a","enc":"G-DzJ8bGszNaflCz0f-JbnJCRZG22EJa00332VssNUY","ct":"Reozh4865PTvVIC6xHFtr7eqE3UPZZ22tJ_5xeWnbMQ"}'
  writeFileSync(files.privateFile, JSON.stringify({ current: 'a', keys: { a: '01'.repeat(32) } }), { mode: 0o600 })
  expect(await fileOpener(files.privateFile).open('record', 'macaroon', sealed)).toBe('sealed elsewhere')
})
