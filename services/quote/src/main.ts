import { runProcess } from '@penstock/platforms/process.ts'
import { bind } from '@penstock/runtime/run.ts'
import { quoting } from './service.ts'

await runProcess('quote', ({ outside }) => {
  const { rates, chain, lightning, height } = outside()
  return [bind(quoting(), { rates, chain, graph: lightning.graph }, height)]
})
