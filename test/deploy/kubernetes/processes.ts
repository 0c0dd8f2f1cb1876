import type { ChildProcess } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { join } from 'node:path'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { killWithParent } from '@penstock/child-processes/kill-with-parent.ts'
import { startProgram } from '../../support/processes.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'

const HOST = '127.0.0.1'
const READY_TIMEOUT_MS = 90_000
const POLL_INTERVAL_MS = 50

/** The folder of the programs, the folder of their data, and the administrator's token. */
export type KubernetesInstallation = { readonly programs: string; readonly folder: string; readonly token: string }

export type KubernetesApi = {
  readonly url: string
  readonly kubeconfig: string
  /** Sends a GET request for a path of the API server. @throws Error for any status except 200 */
  readonly get: <T>(path: string) => Promise<T>
}

export type StartedProcess = { readonly name: string; readonly child: ChildProcess; readonly log: string }

/** Starts etcd and the API server. Without controllers, no service accounts exist, so the plug-in that requires them is off. */
export async function startApi(
  installation: KubernetesInstallation,
  isWithoutControllers: boolean,
  started: StartedProcess[],
): Promise<KubernetesApi> {
  const { folder, token } = installation
  const etcd = `http://${HOST}:${await findFreePort()}`
  const port = await findFreePort()
  const url = `https://${HOST}:${port}`
  const pathOf = (name: string): string => join(folder, name)
  const store = startProcess(installation, started, 'etcd', [
    `--data-dir=${pathOf('etcd')}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
    `--listen-client-urls=${etcd}`,
    `--advertise-client-urls=${etcd}`,
    `--listen-peer-urls=http://${HOST}:0`,
  ])
  await waitUntilProgramReady(store, async () => (await fetch(`${etcd}/health`)).ok)

  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // The server reads this key in SEC 1 and not in PKCS #8.
  await writeFile(pathOf('accounts.key'), privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 })
  await writeFile(pathOf('tokens.csv'), `${token},admin,admin,system:masters\n`, { mode: 0o600 })
  const server = startProcess(installation, started, 'kube-apiserver', [
    `--etcd-servers=${etcd}`,
    `--cert-dir=${folder}`,
    `--bind-address=${HOST}`,
    `--advertise-address=${HOST}`,
    `--secure-port=${port}`,
    '--endpoint-reconciler-type=none', // an Endpoints object must not contain a loopback address
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=RBAC',
    `--token-auth-file=${pathOf('tokens.csv')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${pathOf('accounts.key')}`,
    `--service-account-signing-key-file=${pathOf('accounts.key')}`,
    ...(isWithoutControllers ? ['--disable-admission-plugins=ServiceAccount'] : []),
  ])
  const kubeconfig = pathOf('kubeconfig')
  await writeFile(kubeconfig, createKubeconfig(url, pathOf('apiserver.crt'), token), { mode: 0o600 })
  const get = <T>(path: string): Promise<T> => getJson<T>(`${url}${path}`, token, pathOf('apiserver.crt'))
  await waitUntilProgramReady(server, async () => (await get<string>('/readyz')) === 'ok')
  return { url, kubeconfig, get }
}

/** Starts controllers, a scheduler, and kwok in place of kubelets: pods become ready and jobs end, but no container runs. */
export function startControllers(
  installation: KubernetesInstallation,
  { kubeconfig }: KubernetesApi,
  started: StartedProcess[],
): { readonly kwok: StartedProcess; readonly controllers: StartedProcess } {
  const common = [
    `--kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--secure-port=0',
    '--kube-api-qps=200',
    '--kube-api-burst=400',
  ]
  const controllers = startProcess(installation, started, 'kube-controller-manager', [
    ...common,
    `--service-account-private-key-file=${join(installation.folder, 'accounts.key')}`,
    `--root-ca-file=${join(installation.folder, 'apiserver.crt')}`,
    '--horizontal-pod-autoscaler-sync-period=1s',
  ])
  startProcess(installation, started, 'kube-scheduler', common)
  const kwok = startProcess(installation, started, 'kwok', [
    `--kubeconfig=${kubeconfig}`,
    `--config=${join(import.meta.dirname, 'kwok.yaml')}`,
    '--manage-all-nodes=true',
    '--node-lease-duration-seconds=40', // nodes without a heartbeat become unready after 50 s
  ])
  return { kwok, controllers }
}

function startProcess(
  { programs, folder }: KubernetesInstallation,
  started: StartedProcess[],
  name: string,
  args: readonly string[],
): StartedProcess {
  const log = join(folder, `${name}.log`)
  const output = openSync(log, 'a')
  const { child } = startProgram(join(programs, name), args, {
    stdio: ['ignore', output, output],
    env: { PATH: process.env['PATH'], HOME: folder },
  })
  closeSync(output)
  killWithParent(child, 'KILL')
  const startedProcess = { name, child, log }
  started.push(startedProcess)
  return startedProcess
}

/** @throws Error with the end of the log if the program ends first, or if it is not ready in time */
export async function waitUntilProgramReady(
  { name, child, log }: StartedProcess,
  isReady: () => Promise<boolean>,
): Promise<void> {
  const state = async (): Promise<'ready' | 'ended' | undefined> => {
    if (child.exitCode !== null || child.signalCode !== null) return 'ended'
    return (await isReady().catch(() => false)) ? 'ready' : undefined // the program does not answer yet
  }
  const result = await waitUntil(`${name} is ready`, state, READY_TIMEOUT_MS, POLL_INTERVAL_MS)
  if (result === 'ended') throw new Error(`${name} ended:\n${(await readFile(log, 'utf8')).slice(-3000)}`)
}

const createKubeconfig = (server: string, authority: string, token: string): string =>
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
    const apiRequest = request(url, { ca, headers, signal: AbortSignal.timeout(5000) }, (response) => {
      let text = ''
      response
        .setEncoding('utf8')
        .on('data', (part: string) => (text += part))
        .on('error', reject)
        .on('end', () => {
          if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode} ${text}`))
          else resolve((response.headers['content-type']?.includes('json') ? JSON.parse(text) : text) as T) // the caller's type
        })
    })
    apiRequest.on('error', reject)
    apiRequest.end()
  })
}
