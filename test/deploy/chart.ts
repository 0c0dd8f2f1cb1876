import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { type Kubernetes, startKubernetes } from './kubernetes/cluster.ts'
import { goMissing } from './programs/go.ts'
import { kubernetesPrograms, kubernetesRecipe } from './programs/kubernetes.ts'

export const chart = fileURLToPath(new URL('../../deploy/helm/penstock', import.meta.url))
export const NAMESPACE = 'market'
export const RELEASE = 'penstock'

/** Every values file of the chart; the first is what holds where no other is named. */
export const valuesFiles = ['values.yaml', 'values-small.yaml', 'values-production.yaml', 'values-simulated.yaml'] as const
export const valuesOf = (file: string): readonly string[] => (file === 'values.yaml' ? [] : ['--values', `${chart}/${file}`])

const missing = await goMissing(await kubernetesRecipe())
if (missing !== undefined) console.log(`Suites on a real Kubernetes are skipped. ${missing}`)

/** For `describe.skipIf`. */
export const noKubernetes = missing !== undefined

const BUILD_WITHIN_MS = 45 * 60_000

/** A Kubernetes for the tests of one file, with a namespace that lets restricted pods in and no others. */
export function kubernetes(nodes: number): () => Kubernetes {
  let running: Kubernetes | undefined
  beforeAll(async () => {
    if (noKubernetes) return
    running = await startKubernetes(await kubernetesPrograms(), nodes)
    const labels = { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' }
    await running.kubectl(
      ['create', '-f', '-'],
      JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE, labels } }),
    )
  }, BUILD_WITHIN_MS)
  afterAll(() => running?.stop())
  return () => {
    if (!running) throw new Error('Kubernetes was not started')
    return running
  }
}
