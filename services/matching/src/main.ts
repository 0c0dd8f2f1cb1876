import { runProcess } from '@penstock/platforms/process.ts'
import { bind } from '@penstock/runtime/run.ts'
import { matching } from './service.ts'

await runProcess('matching', ({ outside }) => {
  const { chain, lightning, height } = outside()
  return [bind(matching(), { chain, graph: lightning.graph }, height)]
})
