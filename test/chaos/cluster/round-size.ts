export type ClusterRoundSize = {
  readonly orders: number
  readonly durationMs: number
  readonly freezeMs: number
  readonly replicas: number
}
export const standardClusterRoundSize: ClusterRoundSize = { orders: 20, durationMs: 25_000, freezeMs: 20_000, replicas: 2 }
