import { CHART_FOLDER, CHART_NAMESPACE, CHART_RELEASE, getValuesArgs } from './chart.ts'
import type { KubernetesCluster } from './kubernetes/cluster.ts'

type Labels = Readonly<Record<string, string>>
type Expression = { readonly key: string; readonly operator: 'In'; readonly values: readonly string[] }
export type LabelSelector = { readonly matchLabels?: Labels; readonly matchExpressions?: readonly Expression[] }
type Peer = {
  readonly podSelector?: LabelSelector
  readonly namespaceSelector?: LabelSelector
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] }
}
type Ports = readonly { readonly port: string | number; readonly endPort?: number }[]

export type PodContainer = {
  readonly args: readonly string[]
  readonly image: string
  readonly env: readonly { readonly name: string; readonly value?: string; readonly valueFrom?: { readonly fieldRef?: object } }[]
  readonly ports?: readonly { readonly name: string; readonly hostPort?: number }[]
  readonly securityContext: object
  readonly resources: { readonly limits?: object; readonly requests?: object }
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly subPath?: string }[]
  readonly readinessProbe?: object
  readonly livenessProbe?: object
}
export type PodTemplate = {
  readonly metadata: { readonly labels: Labels }
  readonly spec: {
    readonly serviceAccountName: string
    readonly automountServiceAccountToken: boolean
    readonly enableServiceLinks: boolean
    readonly hostNetwork?: boolean
    readonly securityContext: object
    readonly containers: readonly [PodContainer]
    readonly volumes: readonly {
      readonly name: string
      readonly secret?: { readonly secretName: string; readonly items?: readonly { readonly key: string }[] }
      readonly hostPath?: object
    }[]
  }
}

/** An object of a release, with the fields that these tests read. */
export type KubernetesObject = {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Labels }
  readonly automountServiceAccountToken?: boolean
  readonly data?: Readonly<Record<string, string>>
  readonly spec: {
    readonly replicas?: number
    readonly type?: string
    readonly clusterIP?: string
    readonly podSelector?: LabelSelector
    readonly selector?: Labels & LabelSelector
    readonly policyTypes?: readonly string[]
    readonly ingress?: readonly { readonly from?: readonly Peer[]; readonly ports?: Ports }[]
    readonly egress?: readonly { readonly to?: readonly Peer[]; readonly ports?: Ports }[]
    readonly template?: PodTemplate
    readonly triggers?: readonly {
      readonly metadata: { readonly topic: string; readonly consumerGroup: string; readonly sasl?: string }
    }[]
    readonly scaleTargetRef?: { readonly name: string }
    readonly rules?: readonly {
      readonly http: { readonly paths: readonly { readonly backend: { readonly service: { readonly name: string } } }[] }
    }[]
  }
}

/** Renders the chart's manifests for a values file, with helm and this Kubernetes. */
export const renderChart = (cluster: KubernetesCluster, file: string, ...extraArgs: readonly string[]): Promise<string> =>
  cluster.helm(
    'template',
    CHART_RELEASE,
    CHART_FOLDER,
    '--namespace',
    CHART_NAMESPACE,
    '--dry-run=server',
    ...getValuesArgs(file),
    ...extraArgs,
  )

/** Renders the chart's objects, with the defaults that the API server adds. */
export async function renderObjects(
  cluster: KubernetesCluster,
  file: string,
  ...extraArgs: readonly string[]
): Promise<readonly KubernetesObject[]> {
  const manifest = await renderChart(cluster, file, ...extraArgs)
  const list = await cluster.kubectl(['apply', '--dry-run=server', '--output=json', '-f', '-'], manifest)
  return (JSON.parse(list) as { readonly items: readonly KubernetesObject[] }).items // the server validated them
}

export const listPods = (
  kubernetesObjects: readonly KubernetesObject[],
): readonly { readonly name: string; readonly pod: PodTemplate }[] =>
  kubernetesObjects.flatMap(({ metadata, spec }) =>
    spec?.template ? [{ name: metadata.labels['app.kubernetes.io/component'] ?? '', pod: spec.template }] : [],
  )

/** Whether a selector selects labels. As in Kubernetes, an empty selector selects every object. */
export const isSelected = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector, labels: Labels): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ''))

/** Whether the network policies allow a pod to call the port of another pod in its namespace. */
export function mayCall(kubernetesObjects: readonly KubernetesObject[], from: Labels, to: Labels, port: string): boolean {
  const policies = kubernetesObjects.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec)
  const listPoliciesFor = (labels: Labels) => policies.filter(({ podSelector = {} }) => isSelected(podSelector, labels))
  const isAllowed = (peers: readonly Peer[] | undefined, ports: Ports | undefined, labels: Labels): boolean =>
    (peers === undefined ||
      peers.some(({ podSelector, namespaceSelector }) => podSelector && !namespaceSelector && isSelected(podSelector, labels))) &&
    (ports === undefined || ports.some((one) => one.port === port))
  return (
    listPoliciesFor(from).some(({ egress = [] }) => egress.some((rule) => isAllowed(rule.to, rule.ports, to))) &&
    listPoliciesFor(to).some(({ ingress = [] }) => ingress.some((rule) => isAllowed(rule.from, rule.ports, from)))
  )
}
