import { type ChildProcess, spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { freePort } from '@penstock/servers/free-port.ts'
import { killWithParent } from '@penstock/servers/parent.ts'
import { until } from '@penstock/testkit/until.ts'

const host = '127.0.0.1'
const READY_WITHIN_MS = 90_000
const LOOK_EVERY_MS = 50

/** Where the programs are, where their data go, and who may do everything. */
export type Place = { readonly programs: string; readonly folder: string; readonly token: string }

export type Api = {
  readonly url: string
  readonly kubeconfig: string
  /** GET a path of the API server. @throws Error for any answer but 200 */
  readonly get: <T>(path: string) => Promise<T>
}

export type Started = { readonly name: string; readonly child: ChildProcess; readonly log: string }

/** etcd and the API server. `alone`: nobody makes the service accounts that a plug-in would ask of every pod. */
export async function startApi(place: Place, alone: boolean, started: Started[]): Promise<Api> {
  const { folder, token } = place
  const etcd = `http://${host}:${await freePort()}`
  const port = await freePort()
  const url = `https://${host}:${port}`
  const file = (name: string): string => join(folder, name)
  const store = start(place, started, 'etcd', [
    `--data-dir=${file('etcd')}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
    `--listen-client-urls=${etcd}`,
    `--advertise-client-urls=${etcd}`,
    `--listen-peer-urls=http://${host}:0`,
  ])
  await ready(store, async () => (await fetch(`${etcd}/health`)).ok)

  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // The server reads SEC 1 here, and no PKCS #8.
  await writeFile(file('accounts.key'), privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 })
  await writeFile(file('tokens.csv'), `${token},admin,admin,system:masters\n`, { mode: 0o600 })
  const server = start(place, started, 'kube-apiserver', [
    `--etcd-servers=${etcd}`,
    `--cert-dir=${folder}`,
    `--bind-address=${host}`,
    `--advertise-address=${host}`,
    `--secure-port=${port}`,
    '--endpoint-reconciler-type=none', // an Endpoints object refuses a loopback address
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=RBAC',
    `--token-auth-file=${file('tokens.csv')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('accounts.key')}`,
    `--service-account-signing-key-file=${file('accounts.key')}`,
    ...(alone ? ['--disable-admission-plugins=ServiceAccount'] : []),
  ])
  const kubeconfig = file('kubeconfig')
  await writeFile(kubeconfig, kubeconfigOf(url, file('apiserver.crt'), token), { mode: 0o600 })
  const get = <T>(path: string): Promise<T> => getJson<T>(`${url}${path}`, token, file('apiserver.crt'))
  await ready(server, async () => (await get<string>('/readyz')) === 'ok')
  return { url, kubeconfig, get }
}

/** Controllers, a scheduler, and kwok, which plays the kubelets: pods become ready, jobs end, no container runs. */
export function startControllers(
  place: Place,
  { kubeconfig }: Api,
  started: Started[],
): { readonly kwok: Started; readonly controllers: Started } {
  const common = [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=200',
    '--kube-api-burst=400',
  ]
  const controllers = start(place, started, 'kube-controller-manager', [
    ...common,
    `--service-account-private-key-file=${join(place.folder, 'accounts.key')}`,
    `--root-ca-file=${join(place.folder, 'apiserver.crt')}`,
    '--horizontal-pod-autoscaler-sync-period=1s',
  ])
  start(place, started, 'kube-scheduler', common)
  const kwok = start(place, started, 'kwok', [
    `--kubeconfig=${kubeconfig}`,
    `--config=${join(import.meta.dirname, 'kwok.yaml')}`,
    '--manage-all-nodes=true',
    '--node-lease-duration-seconds=40', // without a heartbeat nodes are not ready after 50 s
  ])
  return { kwok, controllers }
}

function start({ programs, folder }: Place, started: Started[], name: string, args: readonly string[]): Started {
  const log = join(folder, `${name}.log`)
  const output = openSync(log, 'a')
  const child = spawn(join(programs, name), args, {
    stdio: ['ignore', output, output],
    env: { PATH: process.env['PATH'], HOME: folder },
  })
  closeSync(output)
  killWithParent(child, 'KILL')
  const one = { name, child, log }
  started.push(one)
  return one
}

/** @throws Error with the last words of a program that ends instead, or that is not ready in time */
export async function ready({ name, child, log }: Started, look: () => Promise<boolean>): Promise<void> {
  const state = async (): Promise<'ready' | 'ended' | undefined> => {
    if (child.exitCode !== null || child.signalCode !== null) return 'ended'
    return (await look().catch(() => false)) ? 'ready' : undefined // it does not answer yet
  }
  const seen = await until(`${name} to be ready`, state, READY_WITHIN_MS, LOOK_EVERY_MS)
  if (seen === 'ended') throw new Error(`${name} ended:\n${(await readFile(log, 'utf8')).slice(-3000)}`)
}

const kubeconfigOf = (server: string, authority: string, token: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority': authority } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'admin' } }],
  })

async function getJson<T>(url: string, token: string, authority: string): Promise<T> {
  const ca = await readFile(authority, 'utf8')
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' }
    const call = request(url, { ca, headers, signal: AbortSignal.timeout(5000) }, (response) => {
      let text = ''
      response
        .setEncoding('utf8')
        .on('data', (part: string) => (text += part))
        .on('error', reject)
        .on('end', () => {
          if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode} ${text}`))
          else resolve((response.headers['content-type']?.includes('json') ? JSON.parse(text) : text) as T) // what the caller asked for
        })
    })
    call.on('error', reject)
    call.end()
  })
}
