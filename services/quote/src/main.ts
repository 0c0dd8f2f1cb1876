import { runProcess } from '@penstock/platforms/process.ts'
import { bind } from '@penstock/runtime/run.ts'
import { quoteService } from './service.ts'

await runProcess('quote', ({ externalWorld }) => {
  const { rates, chain, lightning, height } = externalWorld()
  return [bind(quoteService(), { rates, chain, graph: lightning.graph }, height)]
})
