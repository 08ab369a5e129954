//! Runs a network on one row of numbers and prints the largest of its results: classify NETWORK.rart NUMBERS...

mod relay;

fn classify(arguments: &[String]) -> Result<String, String> {
    let path = arguments.first().ok_or("usage: classify NETWORK.rart NUMBERS...")?;
    let model = relay::Model::load(path, 0)?;
    let values: Result<Vec<f32>, _> = arguments[1..].iter().map(|word| word.parse::<f32>()).collect();
    let values = values.map_err(|error| error.to_string())?;
    let shape = vec![1, values.len() as i64];
    let results = model.run(&[relay::Tensor { values, shape }])?;
    let scores = &results[0].values;
    let best = (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).ok_or("the result is empty")?;
    Ok(format!("class {best} of {}", results[0].shape[1]))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match classify(&arguments) {
        Ok(text) => println!("{text}"),
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(1);
        }
    }
}
