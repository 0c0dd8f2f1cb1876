import { appendBenchmark } from './benchmarks/append.ts'
import { auditBenchmark } from './benchmarks/audit.ts'
import { buyBenchmark } from './benchmarks/buy.ts'
import { createReceiveBenchmark } from './benchmarks/create-receive.ts'
import { deliveriesBenchmark } from './benchmarks/deliveries.ts'
import { foldBenchmark } from './benchmarks/fold.ts'
import { getOrderBenchmark } from './benchmarks/get-order.ts'
import type { Benchmark } from './harness.ts'
import { keyLookUpBenchmark } from './benchmarks/key-look-up.ts'
import { listTransactionsBenchmark } from './benchmarks/list-transactions.ts'
import { orderLifecycleBenchmark } from './benchmarks/order-lifecycle.ts'
import { projectionBenchmark } from './benchmarks/projection.ts'
import { startBenchmark } from './benchmarks/start.ts'

/** `auditBenchmark` and `startBenchmark` use the same sample store. `startBenchmark` comes last because it changes that store. */
export const benchmarks: readonly Benchmark[] = [
  appendBenchmark,
  foldBenchmark,
  orderLifecycleBenchmark,
  projectionBenchmark,
  auditBenchmark,
  getOrderBenchmark,
  buyBenchmark,
  createReceiveBenchmark,
  listTransactionsBenchmark,
  keyLookUpBenchmark,
  deliveriesBenchmark,
  startBenchmark,
]
