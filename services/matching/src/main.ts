import { runProcess } from '@penstock/platforms/process.ts'
import { bind } from '@penstock/runtime/run.ts'
import { matchingService } from './service.ts'

await runProcess('matching', ({ externalWorld }) => {
  const { chain, lightning, height } = externalWorld()
  return [bind(matchingService(), { chain, graph: lightning.graph }, height)]
})
