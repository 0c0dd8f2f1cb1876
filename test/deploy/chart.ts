import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { type KubernetesCluster, startKubernetes } from './kubernetes/cluster.ts'
import { findGoSkipReason } from './programs/go.ts'
import { buildKubernetesPrograms, createKubernetesRecipe } from './programs/kubernetes.ts'

export const CHART_FOLDER = fileURLToPath(new URL('../../deploy/helm/penstock', import.meta.url))
export const CHART_NAMESPACE = 'market'
export const CHART_RELEASE = 'penstock'

/** Every values file of the chart. The first file contains the default values. */
export const valuesFiles = ['values.yaml', 'values-small.yaml', 'values-production.yaml', 'values-simulated.yaml'] as const
export const getValuesArgs = (file: string): readonly string[] =>
  file === 'values.yaml' ? [] : ['--values', `${CHART_FOLDER}/${file}`]

const skipReason = await findGoSkipReason(await createKubernetesRecipe())
if (skipReason !== undefined) console.log(`Suites on a real Kubernetes are skipped. ${skipReason}`)

/** The argument of `describe.skipIf` for suites that need a Kubernetes. */
export const isKubernetesMissing = skipReason !== undefined

const BUILD_TIMEOUT_MS = 45 * 60_000

/** Starts a Kubernetes for the tests of one file, with a namespace that accepts only restricted pods. */
export function useKubernetes(nodes: number): () => KubernetesCluster {
  let running: KubernetesCluster | undefined
  beforeAll(async () => {
    if (isKubernetesMissing) return
    running = await startKubernetes(await buildKubernetesPrograms(), nodes)
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' }
    await running.kubectl(
      ['create', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: CHART_NAMESPACE, labels } }),
    )
  }, BUILD_TIMEOUT_MS)
  afterAll(() => running?.stop())
  return () => {
    if (!running) throw new Error('Kubernetes was not started')
    return running
  }
}
