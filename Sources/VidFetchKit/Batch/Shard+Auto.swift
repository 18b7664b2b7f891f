// The shard that the engine which started this process has given it, told by the engine's environment
// variables. What is incomplete or contradictory is an error: a guess would fetch things twice, or
// never. Pure.

package import FetchCore

extension Shard {
  /// Somebody's own word on how many shards there are, where the engine doesn't say.
  package static let countVariable = "VIDFETCH_SHARDS"

  /// Every variable that is looked at.
  package static let variables =
    [countVariable] + Engine.all.flatMap { [$0.indexVariable] + $0.otherVariables }

  /// Takes the shard from the variables of an engine's task.
  ///
  /// - Throws: `.usage` where there are none, or they don't make sense.
  package static func auto(environment: [String: String]) throws(FetchError) -> Shard {
    var found: (shard: Shard, engine: Engine)?
    for engine in Engine.all where engine.isPresent(environment) {
      let shard = try engine.shard(Variables(engine: engine.name, values: environment))
      if let other = found, other.shard != shard {
        throw FetchError(
          .usage,
          "--shard auto finds \(other.shard) from \(other.engine.name) and \(shard) from "
            + engine.name,
          recovery: "name the shard by --shard I/N")
      }
      found = (shard, engine)
    }
    if let found { return found.shard }
    let looked = Engine.all.map { "\($0.indexVariable) (\($0.name))" }.joined(separator: ", ")
    throw FetchError(
      .usage, "--shard auto finds none of \(looked)", recovery: "name the shard by --shard I/N")
  }

  /// An engine that numbers its tasks.
  struct Engine: Sendable {
    let name: String
    let indexVariable: String
    let otherVariables: [String]
    /// What the index is where the task isn't one of several.
    var absent: String?
    let shard: @Sendable (Variables) throws(FetchError) -> Shard

    func isPresent(_ environment: [String: String]) -> Bool {
      environment[indexVariable].map { $0 != absent } ?? false
    }

    static let all = [slurm, kubernetes, awsBatch, gridEngine, parallel, ciNode]

    /// sbatch(1), "OUTPUT ENVIRONMENT VARIABLES".
    private static let slurm = Engine(
      name: "a Slurm array", indexVariable: "SLURM_ARRAY_TASK_ID",
      otherVariables: [
        "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP",
        "SLURM_ARRAY_TASK_COUNT",
      ]
    ) { variables throws(FetchError) in
      let shard = try variables.stepped(
        index: "SLURM_ARRAY_TASK_ID", first: "SLURM_ARRAY_TASK_MIN", last: "SLURM_ARRAY_TASK_MAX",
        step: "SLURM_ARRAY_TASK_STEP")
      // An array such as 1,3,7 has gaps, so that its numbers say nothing about a task's place.
      if let count = try variables.number("SLURM_ARRAY_TASK_COUNT"), count != shard.count {
        throw variables.contradiction("the array has gaps")
      }
      return shard
    }

    /// Kubernetes tells a pod its index only; the Job's manifest has to repeat its completions.
    private static let kubernetes = Engine(
      name: "a Kubernetes indexed Job", indexVariable: "JOB_COMPLETION_INDEX",
      otherVariables: ["JOB_COMPLETIONS"]
    ) { variables throws(FetchError) in
      let counts = try [
        variables.number("JOB_COMPLETIONS"), variables.number(countVariable),
      ].compactMap { $0 }
      guard let count = counts.first else {
        throw variables.missing("JOB_COMPLETIONS or \(countVariable)")
      }
      if counts.last != count {
        throw variables.contradiction("JOB_COMPLETIONS and \(countVariable) differ")
      }
      return try variables.shard(
        place: try variables.required("JOB_COMPLETION_INDEX"), from: 0, count: count)
    }

    private static let awsBatch = Engine(
      name: "an AWS Batch array job", indexVariable: "AWS_BATCH_JOB_ARRAY_INDEX",
      otherVariables: ["AWS_BATCH_JOB_ARRAY_SIZE"]
    ) { variables throws(FetchError) in
      try variables.shard(
        place: try variables.required("AWS_BATCH_JOB_ARRAY_INDEX"), from: 0,
        count: try variables.required("AWS_BATCH_JOB_ARRAY_SIZE"))
    }

    /// qsub(1); a job that is no array has the number `undefined`.
    private static let gridEngine = Engine(
      name: "a Grid Engine array", indexVariable: "SGE_TASK_ID",
      otherVariables: ["SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE"], absent: "undefined"
    ) { variables throws(FetchError) in
      try variables.stepped(
        index: "SGE_TASK_ID", first: "SGE_TASK_FIRST", last: "SGE_TASK_LAST",
        step: "SGE_TASK_STEPSIZE")
    }

    /// parallel(1) numbers its jobs from 1 and doesn't say how many there will be; its job slot is used
    /// again and again, so it is no shard.
    private static let parallel = Engine(
      name: "GNU parallel", indexVariable: "PARALLEL_SEQ", otherVariables: []
    ) { variables throws(FetchError) in
      try variables.shard(
        place: try variables.required("PARALLEL_SEQ"), from: 1,
        count: try variables.required(countVariable))
    }

    /// GitLab's `parallel:`, which counts from 1.
    private static let ciNode = Engine(
      name: "a parallel CI job", indexVariable: "CI_NODE_INDEX",
      otherVariables: ["CI_NODE_TOTAL"]
    ) { variables throws(FetchError) in
      try variables.shard(
        place: try variables.required("CI_NODE_INDEX"), from: 1,
        count: try variables.required("CI_NODE_TOTAL"))
    }
  }

  /// An engine's variables, read with complaints that name them.
  struct Variables: Sendable {
    let engine: String
    let values: [String: String]

    func number(_ name: String) throws(FetchError) -> Int? {
      guard let value = values[name] else { return nil }
      guard let number = Shard.number(value) else {
        throw FetchError(
          .usage, "--shard auto can't read \(name)='\(value)' of \(engine): it is no task's number",
          recovery: "name the shard by --shard I/N")
      }
      return number
    }

    func required(_ name: String) throws(FetchError) -> Int {
      guard let number = try number(name) else { throw missing(name) }
      return number
    }

    /// The shard of a task that is numbered from `first` to `last` in steps.
    func stepped(
      index: String, first: String, last: String, step: String
    ) throws(FetchError) -> Shard {
      let number = try required(index)
      let (lower, upper) = (try required(first), try required(last))
      let width = try self.number(step) ?? 1
      guard width > 0, upper >= lower, number >= lower, number <= upper,
        (number - lower) % width == 0
      else { throw contradiction("\(index) isn't among \(first), \(last) and \(step)") }
      return try shard(
        place: (number - lower) / width, from: 0, count: (upper - lower) / width + 1)
    }

    func shard(place: Int, from first: Int, count: Int) throws(FetchError) -> Shard {
      // Both are small where they make sense, and not negative.
      guard place >= first, place - first < count,
        let shard = Shard(index: place - first + 1, count: count)
      else {
        throw contradiction("task \(place), counted from \(first), isn't one of \(count)")
      }
      return shard
    }

    func missing(_ name: String) -> FetchError {
      FetchError(
        .usage,
        "--shard auto finds \(engine), but not how many shards there are: \(name) is not set",
        recovery: "set it, or name the shard by --shard I/N")
    }

    func contradiction(_ message: String) -> FetchError {
      FetchError(
        .usage, "--shard auto can't use the variables of \(engine): \(message)",
        recovery: "name the shard by --shard I/N")
    }
  }
}
