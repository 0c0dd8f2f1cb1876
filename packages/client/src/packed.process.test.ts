import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runProgram, runSuccessfully } from '../../../test/support/processes.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PACKAGE = join(import.meta.dirname, '..')

type Manifest = { readonly version: string; readonly dependencies?: object; readonly license: string }
const readManifest = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest // ours

/** The shop outside of the workspace that installed the packed client. */
let shop = ''
let tarball: Uint8Array = new Uint8Array()
let api: Server | undefined
let url = ''
let systemNode = process.execPath

beforeAll(async () => {
  shop = mkdtempSync(join(tmpdir(), 'penstock shop '))
  await run('npm', ['pack', '--silent', '--pack-destination', shop], PACKAGE)
  const file = join(shop, `penstock-client-${readManifest(ROOT).version}.tgz`)
  tarball = new Uint8Array(readFileSync(file))
  writeFileSync(join(shop, 'package.json'), '{"name": "shop", "private": true}')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', file])
  systemNode = (await findSystemNode()) ?? process.execPath
  api = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ data: { payment: { transaction: { find_one: { id: request.headers['x-api-key'] } } } } }))
  })
  await new Promise<void>((resolve) => api?.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(api.address() as AddressInfo).port}` // a server on a port has this kind of address
})
afterAll(() => {
  api?.close()
  rmSync(shop, { recursive: true, force: true })
})

/** Runs a program without the settings of the npm that started the tests. */
const run = (program: string, args: readonly string[], cwd = shop) => {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'))
  return runSuccessfully(program, args, { cwd, env: Object.fromEntries(inherited) })
}

/** Finds the Node of the machine, which may be older than the one of the workspace. */
async function findSystemNode(): Promise<string | undefined> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    if (folder.includes('node_modules')) continue
    const { code } = await runProgram(join(folder, 'node'), ['--version'])
    if (code === 0) return join(folder, 'node')
  }
  return undefined
}

const write = (name: string, text: string): string => {
  writeFileSync(join(shop, name), text)
  return name
}

test('the package has the version and licence of Penstock, and no dependency', () => {
  const manifest = readManifest(join(shop, 'node_modules/@penstock/client'))
  const { version, license } = readManifest(ROOT)
  expect({ version: manifest.version, license: manifest.license }).toEqual({ version, license })
  expect(manifest.dependencies).toBeUndefined()
})

test('publint and arethetypeswrong find no problem', async () => {
  const { messages, pkg } = await publint({ pack: { tarball: tarball.slice().buffer }, strict: true })
  expect(messages.map((message) => formatMessage(message, pkg))).toEqual([])
  const analysis = await checkPackage(createPackageFromTarballData(tarball))
  expect(analysis).toMatchObject({ types: { kind: 'included' }, problems: [] })
})

const USE = `
const run = async () => {
  const client = createClient({ url: process.argv[2], apiKey: 'psb_1' })
  const { id } = await client.payment.transaction.findOne({ id: 't1' })
  const body = JSON.stringify({ id: 'payment.completed:t1', event_type: 'payment.completed' })
  const at = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', 'whsec_aa').update(at + '.' + body).digest('hex')
  const event = await verifyWebhook(body, { 'x-webhook-timestamp': at, 'x-webhook-signature': signature }, 'whsec_aa')
  console.log(id, event.id)
}
run()
`

test.each([
  [
    'an ES module',
    'use.mjs',
    `import { createHmac } from 'node:crypto'\nimport { createClient, verifyWebhook } from '@penstock/client'\n${USE}`,
  ],
  [
    'CommonJS',
    'use.cjs',
    `const { createHmac } = require('node:crypto')\nconst { createClient, verifyWebhook } = require('@penstock/client')\n${USE}`,
  ],
])('%s calls the API and verifies a webhook', async (_, name, text) => {
  for (const node of new Set([systemNode, process.execPath])) {
    const { stdout } = await run(node, [write(name, text), url])
    expect(`${node}: ${stdout}`).toBe(`${node}: psb_1 payment.completed:t1\n`)
  }
})

test('Node without a global Web Crypto verifies a webhook', async () => {
  const text = `import { createHmac } from 'node:crypto'\ndelete globalThis.crypto\nconst { createClient, verifyWebhook } = await import('@penstock/client')\n${USE}`
  expect((await run(systemNode, [write('use-without-global.mjs', text), url])).stdout).toBe('psb_1 payment.completed:t1\n')
})

const TYPED = `
const client = createClient({ url: 'https://a.example', apiKey: 'k', fetch })
export const read = async (): Promise<readonly string[]> => {
  const { status } = await client.payment.transaction.createReceive({ wallet_id: 'w', amount: '1' })
  // @ts-expect-error an amount is required
  await client.payment.transaction.createReceive({ wallet_id: 'w' })
  // @ts-expect-error no transaction has this status
  if (status === 'PAID') return []
  const ids: string[] = []
  for await (const { id } of client.payment.transaction.findMany.all({ wallet_id: 'w' })) ids.push(id)
  const event = await verifyWebhook('', new Headers(), ['a', 'b'])
  if (event.event_type === 'payment.completed') ids.push(event.data.payment_details.payment_request ?? '')
  return ids
}
`

test.each(['node16', 'bundler'])('its types are right with moduleResolution %s', async (moduleResolution) => {
  const folder = `types-${moduleResolution}`
  mkdirSync(join(shop, folder))
  const imports = "import { createClient, verifyWebhook } from '@penstock/client'\n"
  const files = [write(`${folder}/a.mts`, imports + TYPED), write(`${folder}/b.cts`, imports + TYPED)]
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--types', '', '--moduleResolution', moduleResolution]
  const module = moduleResolution === 'node16' ? 'node16' : 'preserve'
  await run(join(ROOT, 'node_modules/.bin/tsc'), [...options, '--module', module, ...files])
})

test('the examples of the README have right types', async () => {
  const page = readFileSync(join(shop, 'node_modules/@penstock/client/README.md'), 'utf8')
  const examples = [...page.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, text], index) => write(`example-${index}.mts`, text ?? ''))
  expect(examples.length).toBeGreaterThan(5)
  const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')]
  await run(join(ROOT, 'node_modules/.bin/tsc'), [
    '--noEmit',
    '--strict',
    '--target',
    'es2022',
    '--module',
    'node16',
    ...types,
    ...examples,
  ])
})
