private import FetchCLI

@main
enum Main {
  static func main() {
    Command.main()
  }
}
