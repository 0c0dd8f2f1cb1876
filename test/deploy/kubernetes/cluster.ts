import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type KubernetesApi,
  type KubernetesInstallation,
  waitUntilProgramReady,
  startApi,
  startControllers,
  type StartedProcess,
} from './processes.ts'
import { type ProgramResult, runProgram } from '../../support/processes.ts'

/** A real Kubernetes API on this machine. Its programs end with this process, and one temporary folder contains all data. */
export type KubernetesCluster = {
  readonly get: KubernetesApi['get']
  /** Runs kubectl or helm against this Kubernetes. It does not throw if the program fails. */
  readonly attempt: (program: 'kubectl' | 'helm', args: readonly string[], input?: string) => Promise<ProgramResult>
  /** @returns stdout @throws Error with stderr if kubectl fails */
  readonly kubectl: (args: readonly string[], input?: string) => Promise<string>
  readonly helm: (...args: readonly string[]) => Promise<string>
  stop(): Promise<void>
}

/** @param nodes the number of fake nodes; with 0, no controller runs, which is enough for dry runs and validation */
export async function startKubernetes(programs: string, nodes: number): Promise<KubernetesCluster> {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-kubernetes-'))
  const installation: KubernetesInstallation = { programs, folder, token: randomBytes(16).toString('hex') }
  const started: StartedProcess[] = []
  const stop = async (): Promise<void> => {
    await Promise.all(started.map(endProcess))
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
  try {
    const api = await startApi(installation, nodes === 0, started)
    const kubernetes = { get: api.get, ...createCommands(installation, api), stop }
    await installCrds(kubernetes, join(programs, 'crds'))
    if (nodes > 0) await startNodes(installation, api, kubernetes, nodes, started)
    return kubernetes
  } catch (error) {
    await stop()
    throw error
  }
}

function createCommands(
  { programs, folder }: KubernetesInstallation,
  { kubeconfig }: KubernetesApi,
): Omit<KubernetesCluster, 'get' | 'stop'> {
  const home = join(folder, 'helm')
  const env = {
    PATH: `${programs}:${process.env['PATH']}`,
    HOME: folder,
    KUBECONFIG: kubeconfig,
    HELM_CACHE_HOME: home,
    HELM_CONFIG_HOME: home,
    HELM_DATA_HOME: home,
    // At its default rate, helm would be seconds late for a rollout of eight services.
    HELM_QPS: '200',
    HELM_BURST_LIMIT: '400',
  }
  const attempt = (program: string, args: readonly string[], input = ''): Promise<ProgramResult> =>
    runProgram(join(programs, program), args, { env, input })
  const run = async (program: string, args: readonly string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await attempt(program, args, input)
    if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr || stdout}`)
    return stdout
  }
  return { attempt, kubectl: (args, input) => run('kubectl', args, input), helm: (...args) => run('helm', args) }
}

/** Installs the CRDs without their operators, so that the API server validates and stores objects and no program acts on them. */
async function installCrds({ kubectl }: Pick<KubernetesCluster, 'kubectl'>, folder: string): Promise<void> {
  await kubectl(['apply', '--server-side', '-f', folder])
  await kubectl(['wait', '--for=condition=Established', '--all', 'crd'])
}

type KubernetesNode = {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
  readonly spec: { readonly taints?: readonly unknown[] }
}

async function startNodes(
  installation: KubernetesInstallation,
  { get, ...api }: KubernetesApi,
  { kubectl }: Pick<KubernetesCluster, 'kubectl'>,
  count: number,
  started: StartedProcess[],
) {
  const { kwok, controllers } = startControllers(installation, { get, ...api }, started)
  const items = Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: `node-${index + 1}`,
      labels: { 'kubernetes.io/hostname': `node-${index + 1}`, 'topology.kubernetes.io/zone': `zone-${index + 1}` },
    },
  }))
  await kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const isReady = ({ spec, status }: KubernetesNode): boolean =>
    !spec.taints?.length &&
    status?.conditions?.some(({ type, status: conditionStatus }) => type === 'Ready' && conditionStatus === 'True') === true
  await waitUntilProgramReady(kwok, async () =>
    (await get<{ items: readonly KubernetesNode[] }>('/api/v1/nodes')).items.every(isReady),
  )
  await waitUntilProgramReady(controllers, async () => Boolean(await get('/api/v1/namespaces/default/serviceaccounts/default')))
}

async function endProcess({ child }: StartedProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
