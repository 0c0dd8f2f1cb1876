import { chart, NAMESPACE, RELEASE, valuesOf } from './chart.ts'
import type { Kubernetes } from './kubernetes/cluster.ts'

type Labels = Readonly<Record<string, string>>
type Expression = { readonly key: string; readonly operator: 'In'; readonly values: readonly string[] }
export type Selector = { readonly matchLabels?: Labels; readonly matchExpressions?: readonly Expression[] }
type Peer = { readonly podSelector?: Selector; readonly namespaceSelector?: Selector }
type Ports = readonly { readonly port: string | number }[]

export type Container = {
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
export type Pod = {
  readonly metadata: { readonly labels: Labels }
  readonly spec: {
    readonly serviceAccountName: string
    readonly automountServiceAccountToken: boolean
    readonly enableServiceLinks: boolean
    readonly hostNetwork?: boolean
    readonly securityContext: object
    readonly containers: readonly [Container]
    readonly volumes: readonly {
      readonly name: string
      readonly secret?: { readonly secretName: string; readonly items?: readonly { readonly key: string }[] }
      readonly hostPath?: object
    }[]
  }
}

/** An object of a release, with the parts that are looked at here. */
export type Thing = {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Labels }
  readonly automountServiceAccountToken?: boolean
  readonly data?: Readonly<Record<string, string>>
  readonly spec: {
    readonly replicas?: number
    readonly type?: string
    readonly clusterIP?: string
    readonly podSelector?: Selector
    readonly selector?: Labels & Selector
    readonly policyTypes?: readonly string[]
    readonly ingress?: readonly { readonly from?: readonly Peer[]; readonly ports?: Ports }[]
    readonly egress?: readonly { readonly to?: readonly Peer[]; readonly ports?: Ports }[]
    readonly template?: Pod
    readonly triggers?: readonly {
      readonly metadata: { readonly topic: string; readonly consumerGroup: string; readonly sasl?: string }
    }[]
    readonly scaleTargetRef?: { readonly name: string }
    readonly rules?: readonly {
      readonly http: { readonly paths: readonly { readonly backend: { readonly service: { readonly name: string } } }[] }
    }[]
  }
}

/** The chart's manifests, as helm and this Kubernetes make them of a values file. */
export const render = (cluster: Kubernetes, file: string, ...more: readonly string[]): Promise<string> =>
  cluster.helm('template', RELEASE, chart, '--namespace', NAMESPACE, '--dry-run=server', ...valuesOf(file), ...more)

/** The same as objects, with what the server adds to them. */
export async function objects(cluster: Kubernetes, file: string, ...more: readonly string[]): Promise<readonly Thing[]> {
  const manifest = await render(cluster, file, ...more)
  const list = await cluster.kubectl(['apply', '--dry-run=server', '--output=json', '-f', '-'], manifest)
  return (JSON.parse(list) as { readonly items: readonly Thing[] }).items // the server checked them
}

export const podsOf = (things: readonly Thing[]): readonly { readonly name: string; readonly pod: Pod }[] =>
  things.flatMap(({ metadata, spec }) =>
    spec?.template ? [{ name: metadata.labels['app.kubernetes.io/component'] ?? '', pod: spec.template }] : [],
  )

/** In the words of Kubernetes: an empty selector selects everything. */
export const selects = ({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? ''))

/** Whether the policies let one pod of a namespace call another one's port. */
export function mayCall(things: readonly Thing[], from: Labels, to: Labels, port: string): boolean {
  const policies = things.filter(({ kind }) => kind === 'NetworkPolicy').map(({ spec }) => spec)
  const on = (labels: Labels) => policies.filter(({ podSelector = {} }) => selects(podSelector, labels))
  const meets = (peers: readonly Peer[] | undefined, ports: Ports | undefined, labels: Labels): boolean =>
    (peers === undefined ||
      peers.some(({ podSelector, namespaceSelector }) => podSelector && !namespaceSelector && selects(podSelector, labels))) &&
    (ports === undefined || ports.some((one) => one.port === port))
  return (
    on(from).some(({ egress = [] }) => egress.some((rule) => meets(rule.to, rule.ports, to))) &&
    on(to).some(({ ingress = [] }) => ingress.some((rule) => meets(rule.from, rule.ports, from)))
  )
}
